// Package rulefilter writes what stands before the rules, so that a packet that none is about does not
// pay for them: a blocked Bloom filter of all prefixes, a bit map of the regions with IPv4 networks, and a
// table of most IPv4 prefixes that are blocked for good. bpf/include/filter.h says how they work, and
// reads them at each packet.
//
// At no moment the program overlooks a rule, also where the process that writes ends: a prefix is in the
// filter before it has a rule, and a line of the table is marked as incomplete before and until the table
// says what the rules do. What is left over costs time alone.
package rulefilter

import (
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"sync/atomic"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
)

// Maps are those of one family, which stay the caller's.
type Maps struct {
	Ladders *ebpf.Map // of both families
	Filter  *ebpf.Map
	Regions *ebpf.Map // of IPv4; nil otherwise
	Blocks  *ebpf.Map // of IPv4; nil otherwise
}

// Filter is what stands before the rules of one family, mapped into the memory of this process. Only one
// may be open at a time in all processes, which the loader's lock ensures.
type Filter struct {
	salt    wire.Salt
	ladder  *bpf.RuleLadder
	lines   []bpf.RuleLine // of all generations
	regions []bpf.RuleLine // of all generations; none for IPv6
	blocks  []bpf.RuleLine // none for IPv6
	mapped  [][]byte
}

// Open maps the maps of a family, bpf.FamilyIPv4 or bpf.FamilyIPv6. salt is that of the instance. The
// caller must Close it.
func Open(m Maps, family uint8, salt wire.Salt) (f *Filter, err error) {
	f = &Filter{salt: salt}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	ladders, err := mapped[bpf.RuleLadder](f, m.Ladders)
	if err != nil {
		return nil, err
	}
	f.ladder = &ladders[ladderOf(family)]
	if f.lines, err = mapped[bpf.RuleLine](f, m.Filter); err != nil {
		return nil, err
	}
	if family == uint8(bpf.FamilyIPv4) {
		if f.regions, err = mapped[bpf.RuleLine](f, m.Regions); err != nil {
			return nil, err
		}
		if f.blocks, err = mapped[bpf.RuleLine](f, m.Blocks); err != nil {
			return nil, err
		}
	}
	f.prepare()
	return f, nil
}

func ladderOf(family uint8) int {
	if family == uint8(bpf.FamilyIPv4) {
		return bpf.Ladder4
	}
	return bpf.Ladder6
}

// prepare tells the program what never changes, so that only the first time does something.
func (f *Filter) prepare() {
	for bits := range bpf.MaxSteps {
		f.ladder.Masks[bits] = wire.Mask(bits)
	}
	atomic.StoreUint32(&f.ladder.FilterBits, log2(len(f.lines)/bpf.Generations))
	atomic.StoreUint32(&f.ladder.BlockBits, log2(max(len(f.blocks)/2, 1)))
}

func log2(n int) uint32 { return uint32(bits.Len(uint(n)) - 1) }

// Close takes the maps out of memory.
func (f *Filter) Close() error {
	var errs []error
	for _, m := range f.mapped {
		errs = append(errs, unmap(m))
	}
	return errors.Join(errs...)
}

// Add puts a canonical prefix into the filter.
func (f *Filter) Add(p netip.Prefix) { f.add(f.ladder.Generation, p) }

func (f *Filter) add(generation uint32, p netip.Prefix) {
	word, bits := f.wordOf(generation, p)
	atomic.OrUint64(word, bits)
	f.addRegions(generation, p)
	addStep(&f.ladder.Steps[generation], stepOf(p))
}

// Has says whether a canonical prefix may have been added; where it says no, it was not.
func (f *Filter) Has(p netip.Prefix) bool {
	word, bits := f.wordOf(f.ladder.Generation, p)
	return *word&bits == bits
}

// Rebuild makes the filter anew, of those prefixes that all adds, and so without what was added and
// removed since the last time. Until then the old one is in use, and where all fails it stays so.
func (f *Filter) Rebuild(all func(add func(netip.Prefix)) error) error {
	next := (f.ladder.Generation + 1) % bpf.Generations
	// Packets that began with the generation before this one may still be at work with it.
	if err := settle(); err != nil {
		return fmt.Errorf("make the filter of the rules anew: %w", err)
	}
	clear(f.ladder.Steps[next][:])
	clear(generationOf(f.lines, next))
	clear(generationOf(f.regions, next))
	if err := all(func(p netip.Prefix) { f.add(next, p) }); err != nil {
		return err
	}
	atomic.StoreUint32(&f.ladder.Generation, next)
	return nil
}

// wordOf returns a word of a generation, and the bits that are set in it where it has the prefix.
func (f *Filter) wordOf(generation uint32, p netip.Prefix) (word *uint64, bits uint64) {
	line := &generationOf(f.lines, generation)[f.hashLine(p)>>(64-f.ladder.FilterBits)]
	hash := f.hashStep(p)
	return &line.Words[hash>>61], 1<<(hash>>55&63) | 1<<(hash>>49&63) | 1<<(hash>>43&63)
}

// hashLine and hashStep are the program's hashes of a prefix; see filter.h.
func (f *Filter) hashLine(p netip.Prefix) uint64 {
	words, _ := wire.Addr(netip.PrefixFrom(p.Addr(), lineBits(p)).Masked().Addr())
	if p.Addr().Is4() {
		return uint64(words[0]) * (f.salt[2] | 1)
	}
	return wire.Hash(&f.salt, hashLine, words)
}

const hashLine = 256 // no length

func (f *Filter) hashStep(p netip.Prefix) uint64 {
	words, _ := wire.Addr(p.Addr())
	if p.Addr().Is4() {
		return (stepOf(p)&^(1<<32-1) | uint64(words[0])) * (f.salt[3] | 1)
	}
	return wire.Hash(&f.salt, uint32(p.Bits()), words)
}

func generationOf(lines []bpf.RuleLine, n uint32) []bpf.RuleLine {
	size := len(lines) / bpf.Generations
	return lines[int(n)*size:][:size]
}

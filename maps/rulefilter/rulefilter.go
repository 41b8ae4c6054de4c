// Package rulefilter writes what stands before the rules, so that a packet that none is about does not
// pay for them: a blocked Bloom filter of all prefixes, and a table of most of those that are only
// blocked. bpf/include/filter.h says how they work, and reads them at each packet.
//
// Whoever writes keeps this order, so that at no moment the program overlooks a rule, also where the
// process ends in between: a prefix is in the filter before it has a rule, and is in the table only
// while its rule blocks. Then either may say too much of the filter and too little of the table, which
// costs time alone.
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
	Blocks  *ebpf.Map // nil where the family has none
}

// Filter is what stands before the rules of one family, mapped into the memory of this process. Only one
// may be open at a time in all processes, which the loader's lock ensures.
type Filter struct {
	salt   wire.Salt
	ladder *bpf.RuleLadder
	lines  []bpf.RuleLine // of all generations
	blocks []bpf.RuleLine // none for IPv6
	mapped [][]byte
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
	if m.Blocks != nil {
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
	atomic.StoreUint32(&f.ladder.BlockBits, log2(len(f.blocks)))
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
	hash := f.hash(p)
	atomic.OrUint64(&f.line(generation, p).Words[hash&7], bitsOf(hash))
	addStep(&f.ladder.Steps[generation], stepOf(p))
}

// Has says whether a canonical prefix may have been added; where it says no, it was not.
func (f *Filter) Has(p netip.Prefix) bool {
	hash, want := f.hash(p), bitsOf(f.hash(p))
	return f.line(f.ladder.Generation, p).Words[hash&7]&want == want
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
	clear(f.generation(next))
	if err := all(func(p netip.Prefix) { f.add(next, p) }); err != nil {
		return err
	}
	atomic.StoreUint32(&f.ladder.Generation, next)
	return nil
}

// hash is the program's hash of a prefix: the place of its bits, and of its block.
func (f *Filter) hash(p netip.Prefix) uint64 {
	words, _ := wire.Addr(p.Addr())
	return wire.Hash(&f.salt, uint32(p.Bits()), words)
}

// bitsOf returns the bits of a word that are set for a hash.
func bitsOf(hash uint64) uint64 {
	return 1<<(hash>>3&63) | 1<<(hash>>9&63) | 1<<(hash>>15&63) | 1<<(hash>>21&63)
}

// line returns the line of a prefix in a generation.
func (f *Filter) line(generation uint32, p netip.Prefix) *bpf.RuleLine {
	chooses := netip.PrefixFrom(p.Addr(), lineBits(p)).Masked()
	return &f.generation(generation)[f.hash(chooses)>>(64-f.ladder.FilterBits)]
}

func (f *Filter) generation(n uint32) []bpf.RuleLine {
	size := len(f.lines) / bpf.Generations
	return f.lines[int(n)*size:][:size]
}

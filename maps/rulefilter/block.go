package rulefilter

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
)

// State is what there is of a prefix.
type State uint8

// The states.
const (
	Gone    State = iota // no rule
	Blocked              // a rule that blocks for good, and says nothing else
	Other                // any other rule
)

// Change calls write, which changes the rules of canonical prefixes, and has the program decide by them at any moment.
// after says what there is of prefixes[i] then. The program asks the rules themselves while it cannot be
// sure; should the process end, or write fail, it does so until the next Rebuild.
func (f *Filter) Change(prefixes []netip.Prefix, after func(i int) State, write func() error) error {
	for i, p := range prefixes {
		if after(i) != Gone {
			f.Add(p)
		}
	}
	if f.blocks == nil {
		return write()
	}
	opened := f.openLines(prefixes)
	if err := f.retract(prefixes, after); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	for i, p := range prefixes {
		if state := after(i); state == Other || state == Blocked && !f.block(p) {
			delete(opened, f.placeOf(p).line)
		}
	}
	for line := range opened {
		setSlot(line, lastSlot, bpf.BlockFree)
	}
	return nil
}

// openLines marks the lines of prefixes as incomplete, and returns those that were complete.
func (f *Filter) openLines(prefixes []netip.Prefix) map[*bpf.RuleLine]struct{} {
	opened := map[*bpf.RuleLine]struct{}{}
	for _, p := range prefixes {
		if line := f.placeOf(p).line; slot(line, lastSlot) != bpf.BlockOthers {
			setSlot(line, lastSlot, bpf.BlockOthers)
			opened[line] = struct{}{}
		}
	}
	return opened
}

// retract takes prefixes out of the table that are not to be blocked for good. Where something else is
// said of one, no packet may find it missing and not yet see that its line is incomplete.
func (f *Filter) retract(prefixes []netip.Prefix, after func(i int) State) error {
	var leave []place
	settled := true
	for i, p := range prefixes {
		at := f.placeOf(p)
		if state := after(i); state != Blocked && at.find() >= 0 {
			leave = append(leave, at)
			settled = settled && state == Gone
		}
	}
	if !settled {
		if err := settle(); err != nil {
			return err
		}
	}
	for _, at := range leave {
		setSlot(at.line, at.find(), bpf.BlockFree)
	}
	return nil
}

// block puts a prefix into the table, and says whether it is there then.
func (f *Filter) block(p netip.Prefix) bool {
	at := f.placeOf(p)
	if at.find() >= 0 {
		return true
	}
	free := findSlot(at.line, bpf.BlockFree)
	if !at.usable() || free < 0 {
		return false
	}
	setSlot(at.line, free, at.tag)
	return true
}

// Complete makes the table what all says of all prefixes that have a rule, where processes that were killed left
// lines incomplete, or rules have gone.
func (f *Filter) Complete(all func(tell func(netip.Prefix, State)) error) error {
	if f.blocks == nil {
		return nil
	}
	incomplete := map[*bpf.RuleLine]struct{}{}
	err := all(func(p netip.Prefix, state State) {
		if state != Blocked || !f.block(p) {
			incomplete[f.placeOf(p).line] = struct{}{}
		}
	})
	if err != nil {
		return err
	}
	// A packet that did not find a prefix has to see that its line was incomplete.
	if err := settle(); err != nil {
		return err
	}
	for i := range f.blocks {
		if line := &f.blocks[i]; slot(line, lastSlot) == bpf.BlockOthers {
			if _, ok := incomplete[line]; !ok {
				setSlot(line, lastSlot, bpf.BlockFree)
			}
		}
	}
	return nil
}

// place is where a prefix is in the table, if it is.
type place struct {
	line *bpf.RuleLine
	tag  uint16
}

func (f *Filter) placeOf(p netip.Prefix) place {
	b := p.Addr().As4()
	code, half := binary.BigEndian.Uint32(b[:]), 0
	if p.Bits() < 32 {
		code |= 1 << (31 - p.Bits())
		half = len(f.blocks) / 2
	}
	code = wire.Permute(&f.salt, code)
	rest := 32 - f.ladder.BlockBits
	return place{&f.blocks[half+int(code>>rest)], uint16(code & (1<<rest - 1))}
}

// usable says that no slot has the tag for another reason.
func (at place) usable() bool { return at.tag != bpf.BlockFree && at.tag != bpf.BlockOthers }

// find returns the prefix's slot, or -1.
func (at place) find() int {
	if !at.usable() {
		return -1
	}
	return findSlot(at.line, at.tag)
}

// Slots are quarters of words, the first one at the bottom of the first word.
const (
	slotBits     = 16
	slotsPerWord = 64 / slotBits
	lastSlot     = 8*slotsPerWord - 1 // says whether the line is complete
)

func slot(line *bpf.RuleLine, n int) uint16 {
	return uint16(line.Words[n/slotsPerWord] >> (n % slotsPerWord * slotBits))
}

func setSlot(line *bpf.RuleLine, n int, value uint16) {
	word, at := &line.Words[n/slotsPerWord], n%slotsPerWord*slotBits
	atomic.StoreUint64(word, *word&^((1<<slotBits-1)<<at)|uint64(value)<<at)
}

// findSlot returns the first slot with a value, the last one left out, or -1.
func findSlot(line *bpf.RuleLine, value uint16) int {
	for n := range lastSlot {
		if slot(line, n) == value {
			return n
		}
	}
	return -1
}

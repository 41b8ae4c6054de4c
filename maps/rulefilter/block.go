package rulefilter

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
)

const maxBlockEnd = 1<<bpf.BlockEndBits - 1

// Block says that a canonical prefix, which must not be in the table, is blocked until a time of the boot clock, in ns. Where there is
// no room, or the family has no table, it is not said.
func (f *Filter) Block(p netip.Prefix, until uint64) {
	if f.blocks == nil {
		return
	}
	line := f.blockLine(p)
	if i := slices.Index(line.Words[:], 0); i >= 0 {
		atomic.StoreUint64(&line.Words[i], blockWord(p, until))
	}
}

// Unblock takes it back.
func (f *Filter) Unblock(p netip.Prefix) {
	if f.blocks == nil {
		return
	}
	line := f.blockLine(p)
	for i, word := range line.Words {
		if word&^(maxBlockEnd<<bpf.BlockLenBits) == blockWord(p, 0) {
			atomic.StoreUint64(&line.Words[i], 0)
		}
	}
}

func (f *Filter) blockLine(p netip.Prefix) *bpf.RuleLine {
	return &f.blocks[f.hash(p)>>(64-f.ladder.BlockBits)]
}

// blockWord says it in one word. An end that is rounded down, or as far away as a word can say, is no
// promise that the block ends then: afterwards the rule itself decides.
func blockWord(p netip.Prefix, until uint64) uint64 {
	words, _ := wire.Addr(p.Addr())
	end := min(until>>bpf.BlockEndUnit, maxBlockEnd)
	return uint64(words[0])<<32 | end<<bpf.BlockLenBits | uint64(p.Bits())
}

package rulefilter

import (
	"math/bits"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
)

// How much there is for each prefix that there may be. Of a million prefixes in a filter of 32 bits
// each, it says yes of one in a thousand others, for each length; twice as many words of blocks as
// prefixes leave less than one in a hundred without.
const (
	filterBits = 32
	blockWords = 2
)

// SetSizes makes the maps of a spec, by their names, for so many prefixes of each family.
func SetSizes(maps map[string]*ebpf.MapSpec, prefixes uint32) {
	const lineWords, lineBits = 8, 512
	n := 1 << bits.Len32(max(prefixes, 1)-1)
	filter := uint32(bpf.Generations * max(n*filterBits/lineBits, 2))
	maps[bpf.MapRuleFilter4].MaxEntries = filter
	maps[bpf.MapRuleFilter6].MaxEntries = filter
	maps[bpf.MapRuleBlocks4].MaxEntries = uint32(max(n*blockWords/lineWords, 2))
}

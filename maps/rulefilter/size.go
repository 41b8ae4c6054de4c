package rulefilter

import (
	"math/bits"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
)

// How much there is for each prefix that there may be. The filter is to stay in a CPU's own cache
// (the second level, of 1 or 2 MB), rather than to be right more often: of a full one it is wrong about three
// in a hundred, and then the table knows. Its lines are half full, so that hardly one in ten thousand
// is too small.
const (
	filterBits = 8
	blockSlots = 2

	bitsOfLine  = 512
	slotsOfLine = 32
)

// SetSizes makes the maps of a spec, by their names, for so many prefixes of each family.
func SetSizes(maps map[string]*ebpf.MapSpec, prefixes uint32) {
	n := 1 << bits.Len32(max(prefixes, 1)-1)
	filter := uint32(bpf.Generations * max(n*filterBits/bitsOfLine, 2))
	maps[bpf.MapRuleFilter4].MaxEntries = filter
	maps[bpf.MapRuleFilter6].MaxEntries = filter
	maps[bpf.MapRuleBlocks4].MaxEntries = uint32(2 * max(n*blockSlots/slotsOfLine, 1<<bpf.MinBlockBits))
}

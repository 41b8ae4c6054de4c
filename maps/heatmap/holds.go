package heatmap

import (
	"math"
	"time"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/limit"
)

// Flood is the packets a second from ever new sources that a table is to hold unless somebody chooses
// its size.
const Flood = 10e6

// MostByDefault is the largest table, in bytes, that is chosen for a flood. From some size on, each
// packet of it waits for memory.
const MostByDefault = 64 << 20

// Hold says what a table is for the sources of a policy.
type Hold struct {
	Policy string
	// Rate is that of Holds: +Inf where there is no limit, and 0 where Exact.
	Rate float64
	// Exact says that the limit has no cells, as its burst takes too long to drain: each source has
	// a bucket from its first packet on.
	Exact bool
}

// HoldsOf returns what a table of so many bytes is for each policy that counts by source.
func HoldsOf(memory uint64, policies []policymap.Policy) []Hold {
	var all []Hold
	for _, p := range policies {
		if p.Key != policymap.PerSource {
			continue
		}
		hold := Hold{Policy: p.Name, Exact: !p.Limit.HasCells()}
		if !hold.Exact {
			hold.Rate = Holds(memory, p.Slot(), p.Limit)
		}
		all = append(all, hold)
	}
	return all
}

// Least returns the policy with cells that a table of so many bytes holds least for, and false where
// none has any.
func Least(memory uint64, policies []policymap.Policy) (least Hold, ok bool) {
	for _, hold := range HoldsOf(memory, policies) {
		if !hold.Exact && (!ok || hold.Rate < least.Rate) {
			least, ok = hold, true
		}
	}
	return least, ok
}

// MemoryFor returns the size of the smallest table, from DefaultMemory on, that holds Flood for all
// policies; where that would be larger than most, it returns most, which is a power of two.
func MemoryFor(policies []policymap.Policy, most uint64) uint64 {
	for memory := uint64(DefaultMemory); memory < most; memory *= 2 {
		if least, ok := Least(memory, policies); !ok || least.Rate >= Flood {
			return memory
		}
	}
	return most
}

// Holds returns up to how many packets a second from ever new sources nearly all pass by the cells of
// the policy of a slot, and cost no more than that. The limit is one with cells, or none.
//
// To strangers the four cells of a line are servers that share a queue: each is taken for as long as
// the charge of a packet drains. At half of what they can do, one packet in a thousand has to wait for
// longer than that. The half burst that is cold is room to wait in, where it is as long. Where it is
// not, none may wait: at an eighth, two in a thousand have to (M/D/4). The kernel's tick makes no
// difference: it is the clock only where a half burst is many times as long.
func Holds(memory uint64, slot int, l wire.Limit) float64 {
	compiled, err := l.Compile()
	if err != nil || l.IsZero() {
		return math.Inf(1)
	}
	charge := max(drain(compiled.Packets, 1), drain(compiled.Bytes, smallestPacket))
	load := 1. / 8
	if burst := shorter(compiled); burst/2 >= 2*charge {
		load = 1. / 2
	}
	cells := lines(memory) >> (slot + 1) * uint64(bpf.HeatCells)
	return float64(cells) * load / charge
}

// smallestPacket is the longest IP packet in the shortest Ethernet frame, of which a flood has the most
// a second.
const smallestPacket = 46

// drain returns how many seconds so many packets or bytes take to drain.
func drain(p limit.Params, units uint64) float64 { return seconds(p.Cost*units, p.Shift) }

func seconds(ticks uint64, shift uint8) float64 {
	return float64(ticks) / float64(uint64(1)<<shift) / float64(time.Second)
}

// shorter returns the burst that cells go by, in seconds.
func shorter(l limit.Limit) float64 {
	least := math.Inf(1)
	for _, p := range []limit.Params{l.Packets, l.Bytes} {
		if !p.IsZero() {
			least = min(least, seconds(p.Burst, p.Shift))
		}
	}
	return least
}

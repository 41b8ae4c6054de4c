package rulefilter

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/headgate/headgate/bpf"
)

// lineLengths are the lengths of prefixes that choose a line, by the bits of an address, from the longest. Each
// serves those from it up to the next one. Prefixes that have a line in common are about the same network,
// so that many of them in it also cover much of it: few of its sources are unlisted. Most lists are of
// single addresses, of IPv4 networks of /24 and IPv6 ones of /64, /48 and /32, and those have lines of their own.
func lineLengths(addressBits int) []int {
	if addressBits == 32 {
		return []int{32, 24, 16, 8, 0}
	}
	return []int{128, 64, 48, 32, 16, 0}
}

// lineBits returns the length of the prefix that chooses the line of p.
func lineBits(p netip.Prefix) int {
	lengths := lineLengths(p.Addr().BitLen())
	return lengths[slices.IndexFunc(lengths, func(bits int) bool { return bits <= p.Bits() })]
}

// stepOf returns the step of a ladder for prefixes of p's length.
func stepOf(p netip.Prefix) uint32 {
	return bpf.StepSet | uint32(lineBits(p))<<bpf.StepLineBits | uint32(p.Bits())
}

// addStep puts a step into its place among those of a ladder, the longest first, while the program goes
// down it. Those that are shorter move down from the last one on: each is at its old place or at the next
// one or at both, so that the program may meet it twice and never misses it. Whoever was killed half way
// left one twice, which the next move ends with.
func addStep(steps *[bpf.MaxSteps + 1]uint32, step uint32) {
	at := slices.IndexFunc(steps[:], func(s uint32) bool { return length(s) <= length(step) })
	if steps[at] == step {
		return
	}
	end := at
	for steps[end] != 0 && (end == at || steps[end] != steps[end-1]) {
		end++
	}
	for i := end; i > at; i-- {
		atomic.StoreUint32(&steps[i], steps[i-1])
	}
	atomic.StoreUint32(&steps[at], step)
}

// length returns the prefix length of a step, and -1 of none, which follows the last one.
func length(step uint32) int {
	if step == 0 {
		return -1
	}
	return int(step & (1<<bpf.StepLineBits - 1))
}

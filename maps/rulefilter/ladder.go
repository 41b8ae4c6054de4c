package rulefilter

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
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
func stepOf(p netip.Prefix) uint64 {
	step := bpf.StepSet | uint64(lineBits(p))<<bpf.StepLineShift | uint64(p.Bits())<<bpf.StepLengthShift
	if p.Addr().Is4() {
		step |= uint64(wire.Mask(p.Bits())[0])
	}
	return step
}

// addStep puts a step into its place among those of a ladder, the longest first, while the program goes
// down it. Those that are shorter move down from the last one on: each is at its old place or at the next
// one or at both, so that the program may meet it twice and never misses it. Whoever was killed half way
// left one twice, which the next move ends with.
func addStep(steps *[bpf.MaxSteps + 1]uint64, step uint64) {
	at := slices.IndexFunc(steps[:], func(s uint64) bool { return length(s) <= length(step) })
	if steps[at] == step {
		return
	}
	end := at
	for steps[end] != 0 && (end == at || steps[end] != steps[end-1]) {
		end++
	}
	for i := end; i > at; i-- {
		atomic.StoreUint64(&steps[i], steps[i-1])
	}
	atomic.StoreUint64(&steps[at], step)
}

// length returns the prefix length of a step, and -1 of none, which follows the last one.
func length(step uint64) int {
	if step == 0 {
		return -1
	}
	return int(step >> bpf.StepLengthShift & 0xff)
}

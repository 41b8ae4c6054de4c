package rulefilter

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/bpf"
)

// lengths returns those of a ladder that the program goes through.
func lengths(steps *[bpf.MaxSteps + 1]uint64) (all []int) {
	for _, s := range steps {
		if s == 0 {
			return all
		}
		all = append(all, length(s))
	}
	return all
}

// Steps are kept from the longest down, each once; those that a killed process left twice too.
func TestAddStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SampledFrom([]int{32, 128}).Draw(t, "bits")
		address := netip.IPv6Unspecified()
		if bits == 32 {
			address = netip.IPv4Unspecified()
		}
		var steps [bpf.MaxSteps + 1]uint64
		var want []int
		for _, n := range rapid.SliceOf(rapid.IntRange(0, bits)).Draw(t, "lengths") {
			if dup := rapid.IntRange(0, 20).Draw(t, "killed at"); dup < len(want) && len(want) == len(lengths(&steps)) {
				// As a move that did not come further than this: all below are one further down.
				copy(steps[dup+1:], slices.Clone(steps[dup:len(want)]))
			}
			addStep(&steps, stepOf(netip.PrefixFrom(address, n)))
			if !slices.Contains(want, n) {
				want = append(want, n)
			}
			slices.SortFunc(want, func(a, b int) int { return b - a })
			if got := slices.Compact(lengths(&steps)); !slices.Equal(got, want) {
				t.Fatalf("steps %v, want %v", got, want)
			}
			if extra := len(lengths(&steps)) - len(want); extra > 1 {
				t.Fatalf("%d steps are there twice", extra)
			}
		}
	})
}

// The line of a prefix is chosen by a prefix that contains it.
func TestLineBits(t *testing.T) {
	for _, address := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		for bits := range address.BitLen() + 1 {
			if got := lineBits(netip.PrefixFrom(address, bits)); got > bits {
				t.Errorf("/%d is in the line of /%d", bits, got)
			}
		}
	}
}

package main

import (
	"encoding/binary"
	"net/netip"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/test/bench/report"
)

// Names of the cases with a million rules. Their sources are random: of all in the upper half of the
// addresses, where the rules are, or of all in the lower half.
const (
	unlistedNone   = "random source, no rule"
	unlistedHosts  = "unlisted random source, 1 M hosts blocked"
	unlistedMixed  = "unlisted random source, 1 M prefixes blocked"
	listedHosts    = "random source of 1 M blocked hosts"
	listedMixed    = "random source of 1 M blocked prefixes"
	listedOneHost  = "one source of 1 M blocked hosts"
	listedOneMixed = "one source of 1 M blocked prefixes"
)

// addresses are those that sources are drawn from: n times one step further from first on, within mask.
type addresses struct {
	first, step, mask uint32
	n                 uint64
}

func consecutive(n uint64) addresses {
	return addresses{first: firstSource, step: 1, mask: ^uint32(0), n: n}
}

// scattered returns the first n addresses of a half that come in no order: the step is the golden
// section of all.
func scattered(first uint32, n uint64) addresses {
	return addresses{first: first, step: 2654435761, mask: upperHalf - 1, n: n}
}

// floodPackets is how many packets come before those that are measured: a twentieth of a second of a flood.
const floodPackets = 500_000

const upperHalf uint32 = 1 << 31

func (a addresses) at(i uint32) netip.Addr {
	var addr [4]byte
	binary.BigEndian.PutUint32(addr[:], a.first+i*a.step&a.mask)
	return netip.AddrFrom4(addr)
}

// list returns n rules that block, with these lengths in turn, and the addresses that they are about.
func list(n int, lengths []int) ([]rulemap.Rule, addresses) {
	all := scattered(upperHalf, 0)
	seen := make(map[netip.Prefix]bool, n)
	rules := make([]rulemap.Rule, 0, n)
	for ; len(rules) < n; all.n++ {
		i := uint32(all.n)
		prefix := netip.PrefixFrom(all.at(i), lengths[int(i)%len(lengths)]).Masked()
		if !seen[prefix] {
			seen[prefix] = true
			rules = append(rules, rulemap.Rule{Prefix: prefix, Action: rulemap.Block, Until: rulemap.Forever})
		}
	}
	return rules, all
}

// million returns the cases with a million rules. There is no policy, so that what is not blocked has
// no other cost than to find that out.
func million() []subject {
	unlisted := scattered(0, 1<<31)
	subjects := []subject{{name: unlistedNone, reason: bpf.ReasonNoPolicy, setup: setup{nil, nil, fewBuckets}, among: &unlisted}}
	for _, l := range []struct {
		lengths                       []int
		unlisted, listed, oneOfListed string
	}{
		{[]int{32}, unlistedHosts, listedHosts, listedOneHost},
		{lengths4(), unlistedMixed, listedMixed, listedOneMixed},
	} {
		rules, listed := list(int(many), l.lengths)
		one := listed
		one.n = 1
		with := setup{nil, rules, fewBuckets}
		subjects = append(subjects,
			subject{name: l.unlisted, reason: bpf.ReasonNoPolicy, setup: with, among: &unlisted},
			subject{name: l.listed, reason: bpf.ReasonBlocked, setup: with, among: &listed},
			subject{name: l.oneOfListed, reason: bpf.ReasonBlocked, setup: with, among: &one})
	}
	return subjects
}

// Bounds of what a million rules may cost, in ns.
const (
	unlistedBound = 25
	listedBound   = 200
)

func listVerdicts(cases []report.Case) []report.Verdict {
	var verdicts []report.Verdict
	none := report.Net(cases, unlistedNone)
	bound := max(unlistedBound, (report.Net(cases, report.Clock)-report.Net(cases, report.Noop))/2)
	for _, name := range []string{unlistedHosts, unlistedMixed} {
		verdicts = append(verdicts, report.AtMost(name+", beyond no rule", report.Net(cases, name)-none, bound, "max(25, (clock-noop)/2)", "ns"))
	}
	for _, name := range []string{listedHosts, listedMixed, listedOneHost, listedOneMixed} {
		verdicts = append(verdicts, report.AtMost(name, report.Net(cases, name), listedBound, "target", "ns"))
	}
	return verdicts
}

package main

import (
	"errors"

	"github.com/headgate/headgate/test/bench/bpf"
	"github.com/headgate/headgate/test/bench/flow"
	"github.com/headgate/headgate/test/bench/report"
)

// The limit for each source as in the rules of nft, the same for all: packets a second, and packets at once. And that for all sources together,
// of those receivers that have one.
const (
	limitRate  = 1000
	limitBurst = 1000
	totalRate  = 100_000
	totalBurst = 1000
)

// counts are what a receiver has made of packets so far. What is neither was dropped for another reason than the limit.
type counts struct {
	passed uint64 // that came to the end behind the limiter
	over   uint64 // that the limiter dropped, as it says
}

func (c counts) minus(o counts) counts { return counts{c.passed - o.passed, c.over - o.over} }

// tally reads the counts of a receiver.
type tally func() (counts, error)

// receiver is what gets the frames of a flow.
type receiver struct {
	name          string
	ours, limiter bool
	total         bool // limits all sources together too
	// setUp puts it at the far end. remove is for before the flow is closed.
	setUp func(*flow.Flow) (_ tally, remove func() error, _ error)
}

// most returns how many packets a second of so many sources it may let through, or 0 where it is no limiter.
func (r receiver) most(sources uint64) float64 {
	switch {
	case !r.limiter:
		return 0
	case r.total:
		return float64(min(sources*limitRate, totalRate))
	}
	return float64(sources * limitRate)
}

// receivers returns all. The first two are no limiters: the least that can be done about a packet, and the way to the end
// behind the limiters without one.
func receivers(p programs) []receiver {
	return []receiver{
		{name: report.DropAlone, setUp: dropAlone},
		{name: "no limiter", setUp: p.noLimiter},
		{name: report.Headgate, ours: true, limiter: true, setUp: p.headgate(perSource())},
		{name: report.NFT, limiter: true, setUp: p.nftSet},
		{name: "iptables hashlimit", limiter: true, setUp: p.hashlimit},
		{name: report.HeadgateTotal, ours: true, limiter: true, total: true, setUp: p.headgate(perSource(), together())},
		{name: "nft, and a limit on all", limiter: true, total: true, setUp: p.nftTotal},
	}
}

func dropAlone(f *flow.Flow) (tally, func() error, error) {
	none := func() (counts, error) { return counts{}, nil }
	return none, nothing, f.Receive(f.Programs[bpf.Noop])
}

// noLimiter has all come to the end.
func (p programs) noLimiter(f *flow.Flow) (tally, func() error, error) {
	return p.behindXDP(f, sinkRules)
}

// nftSet is what nft(8) calls a meter: a set that packets add their sources to, each with a limit of its own.
func (p programs) nftSet(f *flow.Flow) (tally, func() error, error) {
	return p.behindXDP(f, sinkRules, setRules)
}

// nftTotal has the limit on all first, which is the cheapest for it.
func (p programs) nftTotal(f *flow.Flow) (tally, func() error, error) {
	return p.behindXDP(f, sinkRules, setRules, totalRules)
}

// behindXDP has all packets come to rules of nft, through a program that passes them: without one veth would take no frames
// as a driver has them.
func (p programs) behindXDP(f *flow.Flow, rules ...string) (tally, func() error, error) {
	n, err := p.addRules(f.Pair.Far, rules...)
	if err := errors.Join(err, f.Receive(f.Programs[bpf.Pass])); err != nil {
		return nil, nil, err
	}
	return n.counts, n.remove, nil
}

func nothing() error { return nil }

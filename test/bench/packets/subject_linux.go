package main

import (
	"fmt"
	"slices"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/bench/instance"
)

// Names of the cases that have a bound.
const (
	hotUnder = "one source, under its limit"
	hotOver  = "one source, over its limit"
	spoofed  = "a new source per packet, 1,000 pps each"
)

// subject says how to set a limiter up, what to send it, and what it has to make of that.
type subject struct {
	name    string
	setup   setup
	reason  bpf.Reason
	sources uint64     // 0 for the one of the frame
	among   *addresses // nil for consecutive ones
	ipv6    bool
	frags   bool
}

// subjects returns all that is measured of the limiter.
func subjects() []subject {
	return slices.Concat(oneSource(), manySources(), million(), policies(), variants())
}

func ruleCounts() []int { return []int{0, 10, 10_000} }

func withRules(name string, n int) string {
	switch n {
	case 0:
		return name
	case 1:
		return name + ", 1 rule"
	case 10_000:
		return name + ", 10,000 rules"
	}
	return fmt.Sprintf("%s, %d rules", name, n)
}

func oneSource() []subject {
	var under, over, blocked []subject
	for _, n := range ruleCounts() {
		rules := blocks(n, drawPrefix4)
		under = append(under, subject{name: withRules(hotUnder, n), reason: bpf.ReasonUnderLimit,
			setup: setup{onePolicy(instance.Fast()), rules, fewBuckets}})
		over = append(over, subject{name: withRules(hotOver, n), reason: bpf.ReasonOverPacketLimit,
			setup: setup{onePolicy(instance.Slow()), rules, fewBuckets}})
		n = max(n, 1)
		blocked = append(blocked, subject{name: withRules("one source, blocked", n), reason: bpf.ReasonBlocked,
			setup: setup{onePolicy(instance.Fast()), listed(n, rulemap.Block, wire.Limit{}), fewBuckets}})
	}
	return slices.Concat(under, over, blocked, []subject{
		{name: withRules("one source, allowed", 10_000), reason: bpf.ReasonAllowed,
			setup: setup{onePolicy(instance.Slow()), listed(10_000, rulemap.Allow, wire.Limit{}), fewBuckets}},
		{name: withRules("one source, under a limit of its own", 10_000), reason: bpf.ReasonUnderLimit,
			setup: setup{onePolicy(instance.Slow()), listed(10_000, rulemap.Limit, instance.Fast()), fewBuckets}},
	})
}

func manySources() []subject {
	var some256, million []subject
	for _, n := range ruleCounts() {
		rules := blocks(n, drawPrefix4)
		some256 = append(some256, subject{name: withRules("256 sources", n), reason: bpf.ReasonUnderLimit,
			setup: setup{onePolicy(instance.Fast()), rules, fewBuckets}, sources: some})
		million = append(million, subject{name: withRules("1 M sources", n), reason: bpf.ReasonUnderLimit,
			setup: setup{onePolicy(instance.Fast()), rules, manyBuckets}, sources: many})
	}
	fine := subject{name: "a new source per packet, by the exact clock", reason: bpf.ReasonUnderLimit,
		setup: setup{onePolicy(instance.Fast()), nil, manyBuckets}, sources: all}
	flood := subject{name: spoofed, reason: bpf.ReasonUnderLimit,
		setup: setup{onePolicy(usual()), nil, manyBuckets}, sources: all}
	return slices.Concat(some256, million, []subject{fine, flood})
}

func policies() []subject {
	return []subject{
		{name: "an unverified source, under", reason: bpf.ReasonUnderLimit,
			setup: setup{strangers(instance.Fast()), nil, fewBuckets}},
		{name: "a new source per packet, over what strangers share", reason: bpf.ReasonOverPacketLimit,
			setup: setup{strangers(instance.Slow()), nil, manyBuckets}, sources: all},
		{name: "one source, under, packets and bytes", reason: bpf.ReasonUnderLimit,
			setup: setup{onePolicy(fastBoth()), nil, fewBuckets}},
		{name: "one source, under, 2 policies", reason: bpf.ReasonUnderLimit,
			setup: setup{manyPolicies(2, instance.Fast()), nil, fewBuckets}},
		{name: "one source, over, 2 policies", reason: bpf.ReasonOverPacketLimit,
			setup: setup{manyPolicies(2, instance.Slow()), nil, fewBuckets}},
		{name: "one source, under, 8 policies", reason: bpf.ReasonUnderLimit,
			setup: setup{manyPolicies(8, instance.Fast()), nil, fewBuckets}},
	}
}

func variants() []subject {
	rules6 := blocks(10_000, drawPrefix6)
	return []subject{
		{name: "IPv6, one source, under", reason: bpf.ReasonUnderLimit, ipv6: true,
			setup: setup{onePolicy(instance.Fast()), nil, fewBuckets}},
		{name: "IPv6, one source, over", reason: bpf.ReasonOverPacketLimit, ipv6: true,
			setup: setup{onePolicy(instance.Slow()), nil, fewBuckets}},
		{name: withRules("IPv6, one source, under", 10_000), reason: bpf.ReasonUnderLimit, ipv6: true,
			setup: setup{onePolicy(instance.Fast()), rules6, fewBuckets}},
		{name: "frags, one source, under", reason: bpf.ReasonUnderLimit, frags: true,
			setup: setup{onePolicy(instance.Fast()), nil, fewBuckets}},
		{name: "frags, one source, over", reason: bpf.ReasonOverPacketLimit, frags: true,
			setup: setup{onePolicy(instance.Slow()), nil, fewBuckets}},
	}
}

// open loads what the subject says.
func (s subject) open() (*benchCase, error) {
	in, err := newInstance(s.setup)
	if err != nil {
		return nil, err
	}
	c := &benchCase{
		name: s.name, program: in.Program(s.frags), frame: frame4(), returns: xdpDrop,
		sources: int(min(s.sources, many)), limiter: in, reason: s.reason,
	}
	if s.ipv6 {
		c.frame = frame6()
	}
	switch s.reason {
	case bpf.ReasonUnderLimit, bpf.ReasonAllowed, bpf.ReasonNoPolicy:
		c.returns = xdpPass
	}
	among := s.among
	if s.sources > 0 {
		all := consecutive(s.sources)
		among = &all
	}
	if among == nil {
		return c, nil
	}
	if s.among != nil {
		c.again = floodPackets
	}
	if err := c.spreadOver(*among); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

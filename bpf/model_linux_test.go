package bpf_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/progtest"
	"github.com/headgate/headgate/userspace/rate"
)

// The program decides as the model does, whatever comes in whatever order, and counts the same.
func TestProgramEqualsModel(t *testing.T) {
	t.Run("short keys", func(t *testing.T) { equalsModel(t, false, []int{64, 64, 56, 48}) })
	t.Run("long keys", func(t *testing.T) { equalsModel(t, true, []int{64, 64, 128, 48}) })
}

func equalsModel(t *testing.T, longKeys bool, ipv6Prefixes []int) {
	need.Root(t)
	// The buckets of all runs stay, and none may be forgotten.
	lab := progtest.New(t, progtest.Options{Sources: 1 << 17, LongKeys: longKeys})
	rapid.Check(t, func(t *rapid.T) {
		lab := lab.For(t)
		lab.DeleteAll()
		forgetVerified(t, lab)
		c := comparison{T: t, lab: lab, model: progtest.NewModel(progtest.Options{}), before: lab.Counts()}
		lab.SetClock(rapid.OneOf(rapid.Just(progtest.Start), rapid.Uint64Range(1, 1<<55)).Draw(t, "start"))
		c.configure(ipv6Prefixes)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			c.change()
			for range rapid.IntRange(1, 40).Draw(t, "packets") {
				c.step()
			}
		}
		c.compareCounts()
	})
}

// comparison runs the program and the model side by side.
type comparison struct {
	*rapid.T
	lab    *progtest.Lab
	model  *progtest.Model
	before progtest.Counts
}

// configure draws what all policies have in common, and the first of them.
func (c *comparison) configure(ipv6Prefixes []int) {
	c.lab.Configure(func(config *policymap.Config) {
		config.DryRun = rapid.IntRange(0, 9).Draw(c.T, "dry run") == 0
		config.IPv4Prefix = rapid.SampledFrom([]int{32, 32, 24, 0}).Draw(c.T, "IPv4 prefix")
		config.IPv6Prefix = rapid.SampledFrom(ipv6Prefixes).Draw(c.T, "IPv6 prefix")
		config.ValidUntil = policymap.Forever
	})
	c.setPolicies(rapid.IntRange(1, 8).Draw(c.T, "policies"))
	c.model.Config = c.lab.Config()
}

// change draws one change of the configuration or of the rules.
func (c *comparison) change() {
	switch rapid.SampledFrom([]string{"nothing", "policy", "delete", "rules", "unset", "verify", "unverify"}).Draw(c.T, "change") {
	case "policy":
		c.setPolicies(1)
	case "delete":
		policies := c.model.Config.Policies
		if len(policies) > 0 {
			c.deletePolicy(rapid.SampledFrom(policies).Draw(c.T, "policy").Name)
		}
	case "rules":
		for range rapid.IntRange(1, 4).Draw(c.T, "rules") {
			c.setRule()
		}
	case "unset":
		prefix := rapid.SampledFrom(rulePrefixes()).Draw(c.T, "prefix")
		if _, err := c.lab.Rules.Unset([]netip.Prefix{prefix}); err != nil {
			c.Fatal(err)
		}
		c.model.Unset(prefix)
	case "verify":
		c.verify()
	case "unverify":
		source := c.source()
		if err := c.lab.Verified.Remove([]netip.Addr{source}); err != nil {
			c.Fatal(err)
		}
		delete(c.model.Verified, source)
	}
	c.model.Config = c.lab.Config()
}

func (c *comparison) deletePolicy(name string) {
	c.lab.DeletePolicy(name)
	c.model.Forget(name)
}

// setPolicies adds or changes n policies, in one change. One that would see the same packets as
// another one is left out: there cannot be two.
func (c *comparison) setPolicies(n int) {
	var policies []policymap.Policy
	var noCounters [policymap.MaxPolicies][bpf.VerdictLen]bpf.Counter
	config := c.lab.Config()
	for range n {
		p := c.policy()
		if err := config.Set(p, noCounters); err == nil {
			policies = append(policies, p)
		}
	}
	c.lab.SetPolicy(policies...)
}

func (c *comparison) policy() policymap.Policy {
	name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}).Draw(c.T, "name")
	p := rapid.SampledFrom([]policymap.Policy{
		{}, {}, udpPort("", 53), tcpPort("", 80), {HasProto: true, Proto: 17}, {HasProto: true, Proto: 58},
		{SYN: true}, {Ports: policymap.Ports{First: 1, Last: 60}}, {Ports: policymap.Ports{First: 53, Last: 65535}},
	}).Draw(c.T, "match")
	p.Name = name
	p.Unverified = rapid.IntRange(0, 2).Draw(c.T, "unverified") == 0
	p.DryRun = rapid.IntRange(0, 3).Draw(c.T, "dry") == 0
	if rapid.IntRange(0, 3).Draw(c.T, "shared") == 0 {
		p.Key = policymap.Shared
	}
	p.Limit = c.limit()
	return p
}

// limit draws limits that a handful of packets exceed, at rates of all sizes.
func (c *comparison) limit() wire.Limit {
	var l wire.Limit
	kind := rapid.IntRange(1, 3).Draw(c.T, "dimensions")
	if kind&1 != 0 {
		l.Packets = wire.Quota{
			Rate:  c.rate("pps", "1pph", "1pps", "3pps", "10pps", "999pps", "30kpps", "7Mpps", "100Mpps"),
			Burst: rapid.Uint64Range(1, 12).Draw(c.T, "burst"),
		}
	}
	if kind&2 != 0 {
		l.Bytes = wire.Quota{
			Rate:  c.rate("bit/s", "8bit/s", "8kbit/s", "1Mbit/s", "100Mbit/s", "7Gbit/s", "400Gbit/s"),
			Burst: rapid.Uint64Range(1, 6000).Draw(c.T, "bytes"),
		}
	}
	return l
}

func (c *comparison) rate(unit string, rates ...string) rate.Rate {
	parse := rate.ParsePackets
	if unit == "bit/s" {
		parse = rate.ParseBandwidth
	}
	r, err := parse(rapid.SampledFrom(rates).Draw(c.T, unit))
	if err != nil {
		c.Fatal(err)
	}
	return r
}

// rulePrefixes are those around the sources that packets come from.
func rulePrefixes() []netip.Prefix {
	return prefixes("0.0.0.0/0", "203.0.0.0/16", "203.0.113.0/24", "203.0.113.0/31", alice+"/32", bob+"/32",
		"::/0", "2001:db8::/32", "2001:db8:0:1::/64", "2001:db8:0:1::1/128", "fe80::/10", "fe80::1/128",
		"::ffff:203.0.113.1/128")
}

func (c *comparison) setRule() {
	r := rulemap.Rule{
		Prefix: rapid.SampledFrom(rulePrefixes()).Draw(c.T, "prefix"),
		Action: rapid.SampledFrom([]rulemap.Action{rulemap.Limit, rulemap.Limit, rulemap.Block, rulemap.Allow}).Draw(c.T, "action"),
		Until:  c.until(),
		Origin: rapid.SampledFrom([]rulemap.Origin{rulemap.CLI, rulemap.CLI, rulemap.Config, rulemap.HandDown}).Draw(c.T, "origin"),
	}
	if r.Action == rulemap.Limit {
		r.Limit = c.limit()
		r.PolicyID = uint16(rapid.IntRange(0, 3).Draw(c.T, "other policy"))
		if policies := c.model.Config.Policies; len(policies) > 0 {
			r.PolicyID = rapid.SampledFrom(policies).Draw(c.T, "policy").ID()
		}
	}
	c.lab.SetRules(r)
	c.model.SetRule(r)
}

// verify makes a source verified.
func (c *comparison) verify() {
	source, until := c.source(), c.until()
	if err := c.lab.Verified.Add([]netip.Addr{source}, until); err != nil {
		c.Fatal(err)
	}
	c.model.Verify(source, until)
}

// source draws one of those that packets come from.
func (c *comparison) source() netip.Addr {
	config := c.lab.Config()
	return config.Cut(addr(rapid.SampledFrom(senders()).Draw(c.T, "source")))
}

// senders are the addresses that packets come from.
func senders() []string {
	return []string{
		alice, alice, alice, bob, "203.0.113.77", "2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:2::1",
		"fe80::1", "fe80::2", "::ffff:203.0.113.1",
	}
}

// until draws when a rule or a proof ends: before now, now, soon or never.
func (c *comparison) until() uint64 {
	if rapid.Bool().Draw(c.T, "forever") {
		return rulemap.Forever
	}
	in := rapid.SampledFrom([]time.Duration{0, 1, time.Microsecond, time.Second, time.Hour}).Draw(c.T, "ends in")
	return c.lab.Clock() + uint64(in)
}

// step moves the clock and gives one frame to both.
func (c *comparison) step() {
	c.lab.Advance(c.gap())
	frame := c.frame()
	want, ok := c.model.Decide(frame, c.lab.Clock())
	if got := c.lab.Run(frame); !ok || got != want {
		c.Fatalf("the program says %v, %d bytes, and the model %v, %d bytes, of\n%x",
			got.Outcome, got.Length, want.Outcome, want.Length, frame)
	}
}

// gap draws no time, a little, or the time around which one more packet fits.
func (c *comparison) gap() time.Duration {
	some := rapid.Map(rapid.Uint64Range(0, 1<<32), func(n uint64) time.Duration { return time.Duration(n) })
	marks := rapid.SampledFrom([]time.Duration{
		0, 0, 0, 1, 9, 10, 33, 34, time.Microsecond, time.Millisecond - 1, time.Millisecond,
		100 * time.Millisecond, time.Second / 3, time.Second - 1, time.Second, time.Minute,
		time.Hour, 30 * time.Hour, 50 * 24 * time.Hour,
	})
	return rapid.OneOf(marks, marks, some).Draw(c.T, "gap")
}

func (c *comparison) frame() []byte {
	src := addr(rapid.SampledFrom(senders()).Draw(c.T, "source"))
	layers := []packet.Layer{packet.Ethernet{}}
	if rapid.IntRange(0, 4).Draw(c.T, "tagged") == 0 {
		layers = append(layers, packet.VLAN{ID: 5})
	}
	if src.Is4() {
		layers = append(layers, packet.IPv4{Src: src})
	} else {
		layers = append(layers, packet.IPv6{Src: src, HopLimit: rapid.SampledFrom([]uint8{64, 255}).Draw(c.T, "hop limit")})
	}
	port := rapid.SampledFrom([]uint16{53, 80, 61}).Draw(c.T, "port")
	upper := rapid.SampledFrom([][]packet.Layer{
		{packet.UDP{Dst: port}}, {packet.UDP{Dst: port}},
		{packet.TCP{Dst: port, Flags: packet.SYN}}, {packet.TCP{Dst: port, Flags: packet.ACK}},
		{packet.ICMPv6{Type: 128}}, {packet.ICMPv6{Type: 135}},
		{packet.Fragment{Offset: 9, NextHeader: new(uint8(17))}},
	}).Draw(c.T, "upper")
	size := rapid.SampledFrom([]int{0, 1, 72, 500, 1400}).Draw(c.T, "size")
	frame := packet.Build(append(append(layers, upper...), packet.Zeros(size))...)
	if rapid.IntRange(0, 30).Draw(c.T, "cut") == 0 {
		frame = frame[:max(14, len(frame)-1)]
	}
	return frame
}

// compareCounts compares all that was counted: in total, for each policy and for each source.
func (c *comparison) compareCounts() {
	if diff := cmp.Diff(c.model.Counts, c.lab.Counts().Since(c.before)); diff != "" {
		c.Fatalf("counts (-model +program):\n%s", diff)
	}
	for _, p := range c.model.Config.Policies {
		if got, want := c.lab.Counted(p.Name), c.model.Policies[p.Name]; got != want {
			c.Fatalf("policy %s counted %+v, and in the model %+v", p.Name, got, want)
		}
	}
	list, err := c.lab.Buckets.List()
	if err != nil {
		c.Fatal(err)
	}
	got := make(map[progtest.SourceKey]statmap.Slot)
	for _, s := range list {
		// Buckets of earlier runs, and of packets that another policy refused, counted nothing here.
		key := progtest.SourceKey{Addr: s.Addr, PolicyID: s.PolicyID}
		if _, ok := c.model.Sources[key]; ok {
			got[key] = slot(s)
		}
	}
	if diff := cmp.Diff(c.model.Sources, got, cmp.Comparer(sameAddr)); diff != "" {
		c.Fatalf("sources (-model +program):\n%s", diff)
	}
}

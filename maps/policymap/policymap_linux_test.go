package policymap_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/progtest"
)

type slots = [policymap.MaxPolicies][bpf.VerdictLen]bpf.Counter

var exported = cmp.AllowUnexported(policymap.Config{}, policymap.Policy{})

// What is stored is what is loaded, to the last field.
func TestConfigRoundTrip(t *testing.T) {
	need.Root(t)
	lab := progtest.New(t, progtest.Options{})
	rapid.Check(t, func(t *rapid.T) {
		want := drawConfig(t, lab.Config())
		if err := lab.Policies.Store(want); err != nil {
			t.Fatal(err)
		}
		got, err := lab.Policies.Load()
		if diff := cmp.Diff(want, got, exported); err != nil || diff != "" {
			t.Fatalf("%v, config (-want +got):\n%s", err, diff)
		}
	})
}

// drawConfig draws a configuration that follows another one.
func drawConfig(t *rapid.T, c policymap.Config) policymap.Config {
	c.Policies, c.TrialInterfaces = nil, nil
	c.DryRun = rapid.Bool().Draw(t, "dry run")
	c.EventInterval = time.Duration(rapid.Int64Min(0).Draw(t, "interval"))
	c.IPv4Prefix = rapid.IntRange(0, 32).Draw(t, "IPv4 prefix")
	c.IPv6Prefix = rapid.IntRange(0, 128).Draw(t, "IPv6 prefix")
	c.ValidUntil = rapid.Uint64().Draw(t, "until")
	if trial := rapid.SliceOfN(rapid.IntRange(1, 1<<31), 0, policymap.MaxTrialInterfaces).Draw(t, "interfaces"); len(trial) > 0 {
		c.TrialInterfaces = trial
	}
	for i := range rapid.IntRange(0, policymap.MaxPolicies).Draw(t, "policies") {
		var counters slots
		for slot := range counters {
			counters[slot][0] = bpf.Counter{Packets: rapid.Uint64().Draw(t, "packets")}
		}
		// Ports keep them different.
		port := uint16(i + 1)
		p := policymap.Policy{
			Name:   rapid.StringMatching(`[a-z0-9_-]{1,30}`).Draw(t, "name") + string(rune('a'+i)),
			Ports:  policymap.Ports{First: port, Last: rapid.Uint16Min(port).Draw(t, "last")},
			Key:    rapid.SampledFrom([]policymap.Key{policymap.PerSource, policymap.Shared}).Draw(t, "key"),
			DryRun: rapid.Bool().Draw(t, "dry"),

			Overflow:   rapid.SampledFrom(overflows()).Draw(t, "overflow"),
			Unverified: rapid.Bool().Draw(t, "unverified"),
			Limit:      progtest.Packets("7ppm", rapid.Uint64Range(1, 100).Draw(t, "burst")),
		}
		if rapid.Bool().Draw(t, "tcp") {
			p.HasProto, p.Proto, p.SYN = true, 6, rapid.Bool().Draw(t, "syn")
		}
		// Two of the same name, which is one.
		if err := c.Set(p, counters); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestPrefixLengthsAreChecked(t *testing.T) {
	need.Root(t)
	lab := progtest.New(t, progtest.Options{})
	before := lab.Config()
	for _, prefix := range [][2]int{{-1, 64}, {33, 64}, {32, -1}, {32, 129}} {
		c := policymap.NewConfig()
		c.IPv4Prefix, c.IPv6Prefix = prefix[0], prefix[1]
		if err := lab.Policies.Store(c); err == nil {
			t.Errorf("prefixes %v are stored", prefix)
		}
	}
	if diff := cmp.Diff(before, lab.Config(), exported); diff != "" {
		t.Errorf("config (-before +after):\n%s", diff)
	}
}

func limited(name string, port uint16) policymap.Policy {
	return policymap.Policy{
		Name: name, Ports: policymap.Ports{First: port, Last: port}, Limit: progtest.Packets("1pps", 1),
	}
}

func set(t *testing.T, c *policymap.Config, p policymap.Policy) policymap.Policy {
	t.Helper()
	if err := c.Set(p, slots{}); err != nil {
		t.Fatal(err)
	}
	p, _ = c.Policy(p.Name)
	return p
}

// An id is never another policy's again, and a slot only when it is free.
func TestIDsAndSlots(t *testing.T) {
	c := policymap.NewConfig()
	a, b := set(t, &c, limited("a", 1)), set(t, &c, limited("b", 2))
	if a.ID() != 1 || b.ID() != 2 || a.Slot() != 0 || b.Slot() != 1 {
		t.Errorf("a has id %d, slot %d, and b id %d, slot %d", a.ID(), a.Slot(), b.ID(), b.Slot())
	}
	if err := c.Delete("a"); err != nil {
		t.Fatal(err)
	}
	third := set(t, &c, limited("c", 3))
	if third.ID() != 3 || third.Slot() != 0 {
		t.Errorf("c has id %d, slot %d; want 3 and 0", third.ID(), third.Slot())
	}
	changed := limited("b", 9)
	changed.DryRun = true
	if got := set(t, &c, changed); got.ID() != 2 || got.Slot() != 1 {
		t.Errorf("changed, b has id %d, slot %d; want 2 and 1", got.ID(), got.Slot())
	}
	if c.PolicyName(2) != "b" || c.PolicyName(1) != "" {
		t.Errorf("policies 1 and 2 are %q and %q", c.PolicyName(1), c.PolicyName(2))
	}
}

// Those in dry run come last, those that unverified sources share first, and otherwise the order is that in which they were made.
func TestEnforcedPoliciesComeFirst(t *testing.T) {
	c := policymap.NewConfig()
	for i, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		p := limited(name, uint16(i+1))
		p.DryRun = name == "a" || name == "c"
		p.Unverified = name == "e" || name == "f"
		if name == "f" || name == "g" {
			p.Key = policymap.Shared
		}
		set(t, &c, p)
	}
	var names string
	for _, p := range c.Policies {
		names += p.Name
	}
	if names != "fbdegac" {
		t.Errorf("the order is %s, want fbdegac", names)
	}
}

// A copy of a configuration is not changed with it.
func TestConfigsDoNotShareTheirPolicies(t *testing.T) {
	c := policymap.NewConfig()
	set(t, &c, limited("a", 1))
	set(t, &c, limited("b", 2))
	before := c
	changed := limited("a", 7)
	changed.DryRun = true
	set(t, &c, changed)
	if err := c.Delete("b"); err != nil {
		t.Fatal(err)
	}
	if len(before.Policies) != 2 || before.Policies[0].Ports.First != 1 || before.Policies[1].Name != "b" {
		t.Errorf("the copy became %+v", before.Policies)
	}
}

func TestSetAndDeleteErrors(t *testing.T) {
	c := policymap.NewConfig()
	for i := range policymap.MaxPolicies {
		set(t, &c, limited(string(rune('a'+i)), uint16(i+1)))
	}
	if err := c.Set(limited("more", 99), slots{}); !errors.Is(err, policymap.ErrTooMany) {
		t.Errorf("%v, want ErrTooMany", err)
	}
	if err := c.Set(limited("b", 1), slots{}); !errors.Is(err, policymap.ErrDuplicate) {
		t.Errorf("%v, want ErrDuplicate", err)
	}
	if err := c.Delete("none"); !errors.Is(err, policymap.ErrNoPolicy) {
		t.Errorf("%v, want ErrNoPolicy", err)
	}
	if len(c.Policies) != policymap.MaxPolicies {
		t.Errorf("there are %d policies, want %d", len(c.Policies), policymap.MaxPolicies)
	}
}

func TestValidate(t *testing.T) {
	with := func(edit func(*policymap.Policy)) policymap.Policy {
		p := policymap.Policy{Name: "web", Limit: progtest.Packets("1pps", 1)}
		edit(&p)
		return p
	}
	type policy = policymap.Policy
	proto := func(n uint8) func(*policy) { return func(p *policy) { p.HasProto, p.Proto = true, n } }
	tests := []struct {
		name   string
		policy policy
		ok     bool
	}{
		{"plain", with(func(*policy) {}), true},
		{"longest name", with(func(p *policy) { p.Name = "abcdefghijklmnopqrstuvwxyz-0123" }), true},
		{"name too long", with(func(p *policy) { p.Name = "abcdefghijklmnopqrstuvwxyz-01234" }), false},
		{"no name", with(func(p *policy) { p.Name = "" }), false},
		{"capitals", with(func(p *policy) { p.Name = "Web" }), false},
		{"line break in the middle", with(func(p *policy) { p.Name = "a\nb" }), false},
		{"no limit", policy{Name: "web"}, false},
		{"default without a limit", policy{Name: policymap.Default}, true},
		{"ports backwards", with(func(p *policy) { p.Ports = policymap.Ports{First: 2, Last: 1} }), false},
		{"ports of ICMP", with(func(p *policy) { proto(1)(p); p.Ports = policymap.Ports{First: 1, Last: 2} }), false},
		{"ports of SCTP", with(func(p *policy) { proto(132)(p); p.Ports = policymap.Ports{First: 1, Last: 2} }), true},
		{"SYN of UDP", with(func(p *policy) { proto(17)(p); p.SYN = true }), false},
		{"SYN of TCP", with(func(p *policy) { proto(6)(p); p.SYN = true }), true},
		{"burst 0", with(func(p *policy) { p.Limit.Packets.Burst = 0 }), false},
	}
	for _, tt := range tests {
		if err := tt.policy.Validate(); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func overflows() []policymap.Overflow {
	return []policymap.Overflow{policymap.OverflowPass, policymap.OverflowDrop, policymap.OverflowEstimate}
}

func TestOverflowNames(t *testing.T) {
	for _, o := range overflows() {
		if got, err := policymap.ParseOverflow(o.String()); got != o || err != nil {
			t.Errorf("%v becomes %v, %v", o, got, err)
		}
	}
	for _, bad := range []string{"", "Pass", "overflow 7"} {
		if _, err := policymap.ParseOverflow(bad); err == nil {
			t.Errorf("%q is an overflow mode", bad)
		}
	}
	_, err := policymap.ParseOverflow("shared")
	if err == nil || !strings.Contains(err.Error(), "use estimate") || !strings.Contains(err.Error(), "--key shared --unverified") {
		t.Errorf("of shared: %v", err)
	}
}

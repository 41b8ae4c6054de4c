package rulefilter_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/rulefilter"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/progtest"
)

// open returns the filter of a lab's IPv4 rules.
func open(t *testing.T, lab *progtest.Lab) *rulefilter.Filter {
	t.Helper()
	var g bpf.Global
	if err := lab.Map(bpf.MapGlobals).Lookup(uint32(0), &g); err != nil {
		t.Fatal(err)
	}
	maps := rulefilter.Maps{
		Ladders: lab.Map(bpf.MapRuleLadders), Filter: lab.Map(bpf.MapRuleFilter4),
		Regions: lab.Map(bpf.MapRuleRegions4), Blocks: lab.Map(bpf.MapRuleBlocks4),
	}
	f, err := rulefilter.Open(maps, uint8(bpf.FamilyIPv4), g.Salt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

var errKilled = errors.New("killed")

// want compares what the program decides about the sources of prefixes with the rules that are listed.
func want(t *testing.T, lab *progtest.Lab, when string, sources ...string) {
	t.Helper()
	for _, source := range sources {
		rules, err := lab.Rules.About(netip.MustParseAddr(source))
		if err != nil {
			t.Fatal(err)
		}
		// They come by length, and at one prefix the one that goes first does.
		longest := slices.IndexFunc(rules, func(r rulemap.Rule) bool { return r.Prefix == rules[len(rules)-1].Prefix })
		action := progtest.Pass
		if longest >= 0 && rules[longest].Action == rulemap.Block {
			action = progtest.Drop
		}
		if got := lab.Action(packet.UDPFrame(source, "198.51.100.1", 53, 10)); got != action {
			t.Errorf("%s: action %d for %s, and %v is listed", when, got, source, rules)
		}
	}
}

// states are what a prefix may be changed from and to.
func states(prefix string) map[string][]rulemap.Rule {
	ends := progtest.Block(prefix)
	ends.Until = progtest.Start + 1000
	return map[string][]rulemap.Rule{
		"nothing": nil, "blocked": {progtest.Block(prefix)}, "blocked for a while": {ends}, "allowed": {progtest.Allow(prefix)},
		"blocked and limited": {progtest.Block(prefix), progtest.Limit(prefix, 1, progtest.Packets("1pps", 1))},
	}
}

// Whatever a prefix is changed from and to, the program decides by what is listed when the process that
// does it ends before the rule is written, or after it and before all else; and again after the next change, and when
// all is made anew.
func TestKilledWriter(t *testing.T) {
	need.Root(t)
	lab, other := progtest.New(t, progtest.Options{}), progtest.New(t, progtest.Options{})
	for prefix, source := range map[string]string{"10.1.2.3/32": "10.1.2.3", "10.1.0.0/16": "10.1.9.9"} {
		for from, before := range states(prefix) {
			for to, after := range states(prefix) {
				for _, written := range []bool{false, true} {
					name := fmt.Sprintf("%s from %s to %s, written %t", prefix, from, to, written)
					lab.DeleteAll()
					lab.SetRules(before...)
					kill(t, lab, netip.MustParsePrefix(prefix), to, func() {
						if written {
							other.DeleteAll()
							other.SetRules(after...)
							copyRule(t, lab, other, netip.MustParsePrefix(prefix))
						}
					})
					want(t, lab, name, source)
					lab.SetRules(progtest.Block("10.7.7.7/32"))
					want(t, lab, name+", and another change", source, "10.7.7.7")
					remake(t, lab)
					want(t, lab, name+", made anew", source, "10.7.7.7")
				}
			}
		}
	}
}

// kill changes a prefix as a process does that ends once write has run.
func kill(t *testing.T, lab *progtest.Lab, p netip.Prefix, to string, write func()) {
	t.Helper()
	after := rulefilter.Other
	switch to {
	case "nothing":
		after = rulefilter.Gone
	case "blocked":
		after = rulefilter.Blocked
	}
	err := open(t, lab).Change([]netip.Prefix{p}, func(int) rulefilter.State { return after }, func() error {
		want(t, lab, "before the write to "+to, p.Addr().String())
		write()
		return errKilled
	})
	if !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
}

// copyRule makes the rule of a prefix what it is in another lab, and nothing that stands before it.
func copyRule(t *testing.T, lab, other *progtest.Lab, p netip.Prefix) {
	t.Helper()
	var g bpf.Global
	if err := lab.Map(bpf.MapGlobals).Lookup(uint32(0), &g); err != nil {
		t.Fatal(err)
	}
	g.Rules4++ // counted before it is written, or not counted out yet
	if err := lab.Map(bpf.MapGlobals).Put(uint32(0), &g); err != nil {
		t.Fatal(err)
	}
	words, _ := wire.Addr(p.Addr())
	key := bpf.Prefix4{Len: uint32(p.Bits()), Addr: words[0]}
	var value bpf.Rule
	err := other.Map(bpf.MapRules4).Lookup(key, &value)
	if err == nil {
		err = lab.Map(bpf.MapRules4).Put(key, &value)
	} else if err = lab.Map(bpf.MapRules4).Delete(key); errors.Is(err, ebpf.ErrKeyNotExist) {
		err = nil
	}
	if err != nil {
		t.Fatal(err)
	}
}

// remake has the filter made anew, from the rules that there are.
func remake(t *testing.T, lab *progtest.Lab) {
	t.Helper()
	before := generation(t, lab)
	for n := 0; generation(t, lab) == before; n++ {
		if n == 100 {
			t.Fatal("the filter is not made anew")
		}
		p := netip.MustParsePrefix("10.8.8.8/32")
		lab.SetRules(progtest.Block(p.String()))
		if _, err := lab.Rules.Unset([]netip.Prefix{p}); err != nil {
			t.Fatal(err)
		}
	}
}

func generation(t *testing.T, lab *progtest.Lab) uint32 {
	t.Helper()
	var l bpf.RuleLadder
	if err := lab.Map(bpf.MapRuleLadders).Lookup(uint32(bpf.Ladder4), &l); err != nil {
		t.Fatal(err)
	}
	return l.Generation
}

// Where the new filter cannot be finished the old one stays in use.
func TestRebuildFails(t *testing.T) {
	need.Root(t)
	lab := progtest.New(t, progtest.Options{})
	lab.SetRules(progtest.Block("10.1.2.3/32"))
	f := open(t, lab)
	for range 3 {
		if err := f.Rebuild(func(func(netip.Prefix)) error { return errKilled }); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		want(t, lab, "after a failure", "10.1.2.3")
	}
	if !f.Has(netip.MustParsePrefix("10.1.2.3/32")) || f.Has(netip.MustParsePrefix("10.1.2.4/32")) {
		t.Error("the filter does not have exactly what was added")
	}
}

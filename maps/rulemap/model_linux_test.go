package rulemap_test

import (
	"cmp"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/test/progtest"
)

// Whatever is set and unset in whatever order, the map says what a list would.
func TestMapEqualsModel(t *testing.T) {
	lab := newLab(t, 0)
	rapid.Check(t, func(t *rapid.T) {
		lab := lab.For(t)
		lab.DeleteAll()
		model := progtest.NewModel(progtest.Options{})
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0:
				replaceDrawn(t, lab, model)
				continue
			case 1, 2:
				exchangeDrawn(t, lab, model)
				continue
			}
			prefix := drawPrefix(t)
			if rapid.IntRange(0, 3).Draw(t, "unset") == 0 {
				if _, err := lab.Rules.Unset([]netip.Prefix{prefix}); err != nil {
					t.Fatal(err)
				}
				model.Unset(prefix)
				continue
			}
			rule := drawRule(t, prefix)
			lab.SetRules(rule)
			model.SetRule(rule)
		}
		slices.SortFunc(model.Rules, func(a, b rulemap.Rule) int {
			return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()),
				cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()),
				cmp.Compare(b.Action, a.Action))
		})
		wantRules(t, lab, model.Rules...)
	})
}

// replaceDrawn replaces the rules of an origin by others, and sometimes takes that back.
func replaceDrawn(t *rapid.T, lab *progtest.Lab, model *progtest.Model) {
	origin := drawOrigin(t)
	var rules []rulemap.Rule
	for range rapid.IntRange(0, 5).Draw(t, "rules") {
		rules = append(rules, drawRule(t, drawPrefix(t)))
	}
	replaced, err := lab.Rules.Replace(origin, slices.Values(rules), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !rapid.Bool().Draw(t, "undo") {
		model.Replace(origin, rules)
	} else if err := replaced.Undo(); err != nil {
		t.Fatal(err)
	}
}

// exchangeDrawn exchanges rules, some of which there are, for others.
func exchangeDrawn(t *rapid.T, lab *progtest.Lab, model *progtest.Model) {
	var old, fresh []rulemap.Rule
	for range rapid.IntRange(0, 3).Draw(t, "rules") {
		if old = append(old, drawRule(t, drawPrefix(t))); len(model.Rules) > 0 {
			old = append(old, rapid.SampledFrom(model.Rules).Draw(t, "held"))
		}
		fresh = append(fresh, drawRule(t, drawPrefix(t)))
	}
	if _, _, err := lab.Rules.Exchange(old, fresh, nil); err != nil {
		t.Fatal(err)
	}
	model.Exchange(old, fresh)
}

func drawOrigin(t *rapid.T) rulemap.Origin {
	return rapid.SampledFrom(append(rulemap.Origins(), rulemap.FleetHandDown)).Draw(t, "origin")
}

func drawPrefix(t *rapid.T) netip.Prefix {
	addr := netip.MustParseAddr(rapid.SampledFrom([]string{"10.0.0.0", "10.0.0.1", "11.0.0.0", "::", "2001:db8::1"}).Draw(t, "addr"))
	bits := rapid.SampledFrom([]int{0, 1, 8, 31, 32, 127, 128}).Draw(t, "bits")
	return netip.PrefixFrom(addr, min(bits, addr.BitLen())).Masked()
}

func drawRule(t *rapid.T, prefix netip.Prefix) rulemap.Rule {
	rule := rulemap.Rule{
		Prefix: prefix,
		Action: rapid.SampledFrom(rulemap.Actions()).Draw(t, "action"),
		Until:  rapid.Uint64Range(progtest.Start+1, rulemap.Forever).Draw(t, "until"),
		Origin: drawOrigin(t),
	}
	if rule.Action == rulemap.Limit {
		rule.PolicyID = rapid.Uint16().Draw(t, "policy")
		rule.Limit = progtest.Packets("1kpps", rapid.Uint64Range(1, 100).Draw(t, "burst"))
	}
	return rule
}

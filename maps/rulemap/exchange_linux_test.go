package rulemap_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/progtest"
)

func fleets(r rulemap.Rule) rulemap.Rule { return by(rulemap.Fleet, r) }

// What is named goes and comes, and nothing else: not what another origin says there, nor what another action does.
func TestExchange(t *testing.T) {
	lab := newLab(t, 0)
	mine := progtest.Block("10.0.0.1/32")
	limit := fleets(progtest.Limit("10.0.0.1/32", 1, progtest.Packets("1pps", 5)))
	other, v6 := fleets(progtest.Block("10.0.0.2/32")), fleets(progtest.Block("2001:db8::/64"))
	lab.SetRules(mine, limit, other, v6)
	allow := fleets(progtest.Allow("11.0.0.0/8"))
	left, lifted, err := lab.Rules.Exchange([]rulemap.Rule{limit, fleets(mine), v6, fleets(progtest.Block("12.0.0.1/32"))},
		[]rulemap.Rule{allow, fleets(mine)}, nil)
	if err != nil || lifted != 0 || !slices.Equal(left, []rulemap.Rule{fleets(mine)}) {
		t.Errorf("%v left out, %d lifted, %v", left, lifted, err)
	}
	wantRules(t, lab, mine, other, allow)
	wantCounts(t, lab, 3, 0)

	// A rule becomes one of another kind, which could not take its place.
	offender := by(rulemap.FleetHandDown, other)
	if left, _, err := lab.Rules.Exchange([]rulemap.Rule{other}, []rulemap.Rule{offender}, nil); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	wantRules(t, lab, mine, offender, allow)
}

// What is not there is not missed, and what is there already is not written.
func TestExchangeOfNothing(t *testing.T) {
	lab := newLab(t, 0)
	there, ended := fleets(progtest.Block("10.0.0.1/32")), until(progtest.Start, fleets(progtest.Block("10.0.0.3/32")))
	lab.SetRules(there)
	written := func(done int) { t.Errorf("%d written", done) }
	if _, _, err := lab.Rules.Exchange([]rulemap.Rule{fleets(progtest.Block("10.0.0.2/32"))}, []rulemap.Rule{there, ended}, written); err != nil {
		t.Error(err)
	}
	wantRules(t, lab, there)
	wantCounts(t, lab, 1, 0)
}

// What comes in for a rule that goes, at a table that is full, comes in.
func TestExchangeOrNothing(t *testing.T) {
	lab := newLab(t, 2)
	before := []rulemap.Rule{fleets(progtest.Block("10.0.0.1/32")), fleets(progtest.Block("10.0.0.2/32"))}
	lab.SetRules(before...)
	if _, _, err := lab.Rules.Exchange(before[:1], []rulemap.Rule{fleets(progtest.Block("10.0.0.3/32")), fleets(progtest.Block("10.0.0.4/32"))}, nil); !errors.Is(err, rulemap.ErrFull) {
		t.Errorf("%v, want ErrFull", err)
	}
	bad := rulemap.Rule{Prefix: netip.MustParsePrefix("10.0.0.2/32"), Action: rulemap.Limit, Until: rulemap.Forever, Limit: wire.Limit{Packets: wire.Quota{Burst: 1}}}
	if _, _, err := lab.Rules.Exchange(before[:1], []rulemap.Rule{bad}, nil); err == nil {
		t.Error("no error for a limit without a rate")
	}
	wantRules(t, lab, before...)
	wantCounts(t, lab, 2, 0)
}

// A fleet's allow rule lifts what was handed down, here and elsewhere, and what is allowed is said.
func TestFleetsAllowLifts(t *testing.T) {
	lab := newLab(t, 0)
	elsewhere := by(rulemap.FleetHandDown, progtest.Block("10.0.0.9/32"))
	person := fleets(progtest.Block("10.0.0.10/32"))
	lab.SetRules(append(handedDown(), elsewhere, person)...)
	allow := fleets(progtest.Allow("10.0.0.0/8"))
	_, lifted, err := lab.Rules.Exchange(nil, []rulemap.Rule{allow}, nil)
	if err != nil || lifted != 4 {
		t.Errorf("%d lifted, %v, want 4", lifted, err)
	}
	wantRules(t, lab, append([]rulemap.Rule{allow, person}, handedDown()[3:]...)...)

	var allowed rulemap.Allowed
	allowed.Add(allow)
	allowed.Add(by(rulemap.FleetHandDown, progtest.Allow("12.0.0.0/8")))
	for prefix, want := range map[string]bool{"10.1.2.3/32": true, "10.0.0.0/8": true, "10.0.0.0/7": false, "12.0.0.1/32": false, "::/0": false} {
		if got := allowed.Contain(netip.MustParsePrefix(prefix)); got != want {
			t.Errorf("%s is allowed: %t, want %t", prefix, got, want)
		}
	}
}

package rulemap_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/test/progtest"
)

// handedDown returns what offenders in and beside 10.0.0.0/8 and 2001:db8::/32 have, the last two beside.
func handedDown() []rulemap.Rule {
	rules := []rulemap.Rule{
		progtest.Block("10.0.0.0/8"),
		progtest.Block("10.0.0.1/32"),
		progtest.Limit("10.255.0.0/16", 1, progtest.Packets("1pps", 5)),
		progtest.Block("11.0.0.1/32"),
		progtest.Block("2001:db8:1::/48"),
		progtest.Block("2001:db9::/64"),
	}
	for n := range rules {
		rules[n] = until(progtest.Start+100, by(rulemap.HandDown, rules[n]))
	}
	return rules
}

// Whoever allows a network means the sources in it that were handed down too; what people say of those stays.
func TestAllowLiftsWhatWasHandedDown(t *testing.T) {
	given := handedDown()
	mine := progtest.Block("10.0.0.2/32")
	fleets := by(rulemap.Fleet, progtest.Block("10.0.0.1/32"))
	lab := newLab(t, 0)
	lab.SetRules(given...)
	lab.SetRules(mine, until(progtest.Start+100, by(rulemap.HandDown, progtest.Limit("10.0.0.2/32", 1, progtest.Packets("1pps", 5)))))

	allow4, allow6 := progtest.Allow("10.0.0.0/8"), fromConfig(progtest.Allow("2001:db8::/32"))
	done, err := lab.Rules.SetAll([]rulemap.Rule{allow4}, nil)
	if err != nil || done != (rulemap.Done{Lifted: 4}) {
		t.Errorf("%+v, %v, want 4 lifted", done, err)
	}
	wantRules(t, lab, allow4, mine, given[3], given[4], given[5])
	wantCounts(t, lab, 3, 2)

	r := replace(t, lab, allow6)
	if r.Lifted != 1 {
		t.Errorf("%d lifted by a file, want 1", r.Lifted)
	}
	wantRules(t, lab, allow4, mine, given[3], allow6, given[5])
	wantCounts(t, lab, 3, 2)
	if err := r.Undo(); err != nil {
		t.Fatal(err)
	}
	wantRules(t, lab, allow4, mine, given[3], given[4], given[5])
	wantCounts(t, lab, 3, 2)

	lab.SetRules(fleets, by(rulemap.HandDown, progtest.Block("10.0.0.3/32")))
	if r := replace(t, lab, fromConfig(progtest.Allow("10.0.0.0/30"))); r.Lifted != 1 {
		t.Errorf("%d lifted, want only what was handed down", r.Lifted)
	}
	wantRules(t, lab, allow4, fromConfig(progtest.Allow("10.0.0.0/30")), fleets, mine, given[3], given[4], given[5])
}

// An allow rule for an address lifts what it has, so that nothing comes back when the rule ends.
func TestAllowOfAnAddressLifts(t *testing.T) {
	lab := newLab(t, 0)
	lab.SetRules(handedDown()...)
	done, err := lab.Rules.SetAll([]rulemap.Rule{until(progtest.Start+10, progtest.Allow("10.0.0.1/32"))}, nil)
	if err != nil || done.Lifted != 1 {
		t.Errorf("%+v, %v, want 1 lifted", done, err)
	}
	lab.SetClock(progtest.Start + 10)
	wantRules(t, lab, slices.Delete(handedDown(), 1, 2)...)
}

// What has ended is not counted as lifted.
func TestEndedIsNotLifted(t *testing.T) {
	lab := newLab(t, 0)
	limit := progtest.Limit("10.0.0.1/32", 1, progtest.Packets("1pps", 5))
	lab.SetRules(limit, until(progtest.Start+1, by(rulemap.HandDown, progtest.Block("10.0.0.1/32"))))
	lab.SetClock(progtest.Start + 1)
	allow := progtest.Allow("10.0.0.0/8")
	done, err := lab.Rules.SetAll([]rulemap.Rule{allow}, nil)
	if err != nil || done.Lifted != 0 {
		t.Errorf("%+v, %v, want none lifted", done, err)
	}
	wantRules(t, lab, allow, limit)
}

// Only what people allow lifts, and only allowing.
func TestNothingElseLifts(t *testing.T) {
	for _, r := range []rulemap.Rule{
		progtest.Block("0.0.0.0/0"),
		progtest.Limit("0.0.0.0/0", 1, progtest.Packets("1pps", 5)),
		by(rulemap.HandDown, progtest.Allow("0.0.0.0/0")),
		by(rulemap.FleetHandDown, progtest.Allow("0.0.0.0/0")),
	} {
		lab := newLab(t, 0)
		lab.SetRules(handedDown()...)
		lab.SetRules(r)
		wantRules(t, lab, append([]rulemap.Rule{r}, handedDown()...)...)
	}
}

// A single rule that is left out is an error; of many it is said how many are.
func TestSetTellsOfWhatGivesWay(t *testing.T) {
	lab := newLab(t, 0)
	held := fromConfig(progtest.Block("10.0.0.1/32"))
	lab.SetRules(held)
	short := until(progtest.Start+10, progtest.Block("10.0.0.1/32"))
	if err := lab.Rules.Set(short); !errors.Is(err, rulemap.ErrHeld) {
		t.Errorf("%v, want ErrHeld", err)
	}
	done, err := lab.Rules.SetAll([]rulemap.Rule{short, progtest.Block("10.0.0.2/32")}, nil)
	if err != nil || done.GaveWay != 1 {
		t.Errorf("%+v, %v, want 1 that gave way", done, err)
	}
	wantRules(t, lab, held, progtest.Block("10.0.0.2/32"))
}

// All prefixes that contain one, whatever lies between.
func TestContaining(t *testing.T) {
	lab := newLab(t, 0)
	rules := []rulemap.Rule{
		progtest.Block("0.0.0.0/0"), progtest.Allow("10.0.0.0/8"), progtest.Block("10.0.0.0/8"),
		progtest.Block("10.0.0.0/31"), progtest.Block("10.0.0.1/32"),
		progtest.Block("2001:db8::/32"), progtest.Block("2001:db8::/128"),
	}
	lab.SetRules(rules...)
	lab.SetRules(until(progtest.Start+1, progtest.Block("10.0.0.0/16")))
	lab.SetClock(progtest.Start + 1)
	for prefix, want := range map[string][]rulemap.Rule{
		"10.0.0.1/32":    rules[:5],
		"10.0.0.0/31":    rules[:4],
		"10.0.0.0/9":     rules[:3],
		"11.0.0.0/8":     rules[:1],
		"0.0.0.0/0":      rules[:1],
		"2001:db8::/64":  rules[5:6],
		"2001:db8::/128": rules[5:],
		"::/0":           nil,
	} {
		got, err := lab.Rules.Containing(netip.MustParsePrefix(prefix))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", prefix, got, err, want)
		}
	}
}

// A table that is full is planned for twice, and what is lifted and left out is counted once.
func TestLiftedIsCountedOnce(t *testing.T) {
	const room = 4200 // so many that they are not swept unless it is full
	lab := newLab(t, room)
	held, offender := progtest.Block("11.0.0.1/32"), by(rulemap.HandDown, progtest.Block("10.0.0.1/32"))
	lab.SetRules(held, offender)
	var ending []rulemap.Rule
	for n := range room - 2 {
		address := netip.AddrFrom4([4]byte{12, 0, byte(n >> 8), byte(n)})
		ending = append(ending, until(progtest.Start+1, progtest.Block(netip.PrefixFrom(address, 32).String())))
	}
	lab.SetRules(ending...)
	lab.Advance(1)
	r := replace(t, lab, fromConfig(progtest.Allow("10.0.0.0/8")), fromConfig(held))
	if r.Done != (rulemap.Done{GaveWay: 1, Lifted: 1}) {
		t.Errorf("%+v, want one of each", r.Done)
	}
	wantCounts(t, lab, 2, 0)
}

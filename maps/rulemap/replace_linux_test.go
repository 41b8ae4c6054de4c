package rulemap_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/progtest"
)

func replace(t *testing.T, lab *progtest.Lab, rules ...rulemap.Rule) *rulemap.Replaced {
	t.Helper()
	r, err := lab.Rules.Replace(rulemap.Config, slices.Values(rules), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func fromConfig(r rulemap.Rule) rulemap.Rule { return by(rulemap.Config, r) }

// Exactly the rules of one origin are replaced, beside others of the same prefixes.
func TestReplace(t *testing.T) {
	lab := newLab(t, 0)
	limit := fromConfig(progtest.Limit("10.0.0.0/8", 3, progtest.Packets("1pps", 5)))
	others := []rulemap.Rule{
		progtest.Allow("10.0.0.0/8"),
		by(rulemap.Fleet, until(progtest.Start+9, progtest.Block("10.0.0.1/32"))),
		progtest.Block("2001:db8::/32"),
	}
	lab.SetRules(others...)
	replace(t, lab, limit, fromConfig(progtest.Block("192.0.2.0/24")), fromConfig(progtest.Block("::1/128")))
	wantRules(t, lab, others[0], limit, others[1], fromConfig(progtest.Block("192.0.2.0/24")), fromConfig(progtest.Block("::1/128")), others[2])
	wantCounts(t, lab, 3, 2)

	r := replace(t, lab, fromConfig(progtest.Block("192.0.2.0/24")), fromConfig(progtest.Allow("192.0.2.0/25")))
	if r.Written != 2 || r.Removed != 1 || r.GaveWay != 0 { // 10.0.0.0/8 lost its limit, ::1 all
		t.Errorf("%d written, %d removed, %d gave way", r.Written, r.Removed, r.GaveWay)
	}
	wantRules(t, lab, others[0], others[1], fromConfig(progtest.Block("192.0.2.0/24")), fromConfig(progtest.Allow("192.0.2.0/25")), others[2])
	wantCounts(t, lab, 4, 1)

	if err := r.Undo(); err != nil {
		t.Fatal(err)
	}
	wantRules(t, lab, others[0], limit, others[1], fromConfig(progtest.Block("192.0.2.0/24")), fromConfig(progtest.Block("::1/128")), others[2])
	wantCounts(t, lab, 3, 2)

	replace(t, lab)
	wantRules(t, lab, others...)
	wantCounts(t, lab, 2, 1)
}

// What a replacement leaves as it is is not written again.
func TestReplaceByTheSame(t *testing.T) {
	lab := newLab(t, 0)
	rules := []rulemap.Rule{
		fromConfig(progtest.Block("10.0.0.1/32")), fromConfig(progtest.Allow("10.0.0.1/32")),
		fromConfig(progtest.Limit("2001:db8::/64", 1, progtest.Packets("3ppm", 7))),
	}
	replace(t, lab, rules...)
	if r := replace(t, lab, rules...); r.Written != 0 || r.Removed != 0 {
		t.Errorf("%d written and %d removed", r.Written, r.Removed)
	}
}

// Of two rules of one action at one prefix, one stays.
func TestGivesWay(t *testing.T) {
	const never = rulemap.Forever
	const second = uint64(time.Second)
	const soon, nearly, later = progtest.Start + 10*second, progtest.Start + 11*second - 1, progtest.Start + 100*second
	tests := []struct {
		name      string
		action    rulemap.Action
		held      rulemap.Origin
		heldUntil uint64
		set       rulemap.Origin
		setUntil  uint64
		want      bool
	}{
		{"a command's over its own", rulemap.Block, rulemap.CLI, later, rulemap.CLI, soon, false},
		{"an offender's over its own", rulemap.Block, rulemap.HandDown, soon, rulemap.HandDown, later, false},
		{"a file's beside a command's", rulemap.Block, rulemap.CLI, never, rulemap.Config, never, true},
		{"a command's over a file's", rulemap.Block, rulemap.Config, never, rulemap.CLI, never, false},
		{"a command's for a while, where a file's is for good", rulemap.Block, rulemap.Config, never, rulemap.CLI, soon, true},
		{"a file's for good, where a command's is for a while", rulemap.Allow, rulemap.CLI, soon, rulemap.Config, never, false},
		{"a command's limit for a while, where a file's is for good", rulemap.Limit, rulemap.Config, never, rulemap.CLI, soon, false},
		{"a file's limit, where a command's is for a while", rulemap.Limit, rulemap.CLI, soon, rulemap.Config, never, true},
		{"an offender's beside a command's that ends before", rulemap.Block, rulemap.CLI, soon, rulemap.HandDown, later, true},
		{"an offender's beside a file's", rulemap.Block, rulemap.Config, never, rulemap.HandDown, later, true},
		{"a file's over an offender's", rulemap.Block, rulemap.HandDown, later, rulemap.Config, never, false},
		{"a command's that ends before an offender's", rulemap.Block, rulemap.HandDown, later, rulemap.CLI, soon, true},
		{"a command's limit over an offender's", rulemap.Limit, rulemap.HandDown, later, rulemap.CLI, soon, false},
		{"a fleet's over an offender's", rulemap.Block, rulemap.HandDown, soon, rulemap.Fleet, soon, false},
		{"a fleet's limit over an offender's", rulemap.Limit, rulemap.HandDown, later, rulemap.Fleet, soon, false},
		{"a fleet's that ends before an offender's", rulemap.Block, rulemap.HandDown, later, rulemap.Fleet, soon, true},
		{"an offender's beside a fleet's that ends before", rulemap.Block, rulemap.Fleet, soon, rulemap.HandDown, later, true},
		{"a fleet's for good, where a command's is for a while", rulemap.Block, rulemap.CLI, soon, rulemap.Fleet, never, true},
		{"a fleet's limit beside a file's", rulemap.Limit, rulemap.Config, never, rulemap.Fleet, never, true},
		{"a command's over a fleet's", rulemap.Block, rulemap.Fleet, never, rulemap.CLI, never, false},
		{"a command's for a while, where a fleet's is for good", rulemap.Block, rulemap.Fleet, never, rulemap.CLI, soon, true},
		{"an offender's elsewhere that lasts longer than one's here", rulemap.Block, rulemap.HandDown, soon, rulemap.FleetHandDown, later, false},
		{"an offender's elsewhere that lasts hardly longer than one's here", rulemap.Block, rulemap.HandDown, soon, rulemap.FleetHandDown, nearly, true},
		{"an offender's elsewhere beside one's here with a limit", rulemap.Limit, rulemap.HandDown, soon, rulemap.FleetHandDown, later, true},
		{"an offender's here over one's elsewhere that lasts hardly longer", rulemap.Block, rulemap.FleetHandDown, nearly, rulemap.HandDown, soon, false},
		{"a fleet's over an offender's elsewhere", rulemap.Limit, rulemap.FleetHandDown, later, rulemap.Fleet, soon, false},
	}
	lab := newLab(t, 0)
	for _, tt := range tests {
		rule := progtest.Limit("10.0.0.1/32", 1, progtest.Packets("1pps", 5))
		if rule.Action = tt.action; tt.action != rulemap.Limit {
			rule = progtest.Block("10.0.0.1/32")
			rule.Action = tt.action
		}
		held, set := until(tt.heldUntil, by(tt.held, rule)), until(tt.setUntil, by(tt.set, rule))
		if got := set.GivesWay(tt.held, tt.heldUntil); got != tt.want {
			t.Errorf("%s: gives way %t, want %t", tt.name, got, tt.want)
		}
		lab.DeleteAll()
		lab.SetClock(progtest.Start)
		lab.SetRules(held)
		lab.SetRules(set)
		if tt.want {
			wantRules(t, lab, held)
		} else {
			wantRules(t, lab, set)
		}
		lab.SetClock(tt.heldUntil) // what has ended is in nobody's way
		if set = until(never, set); tt.heldUntil != never {
			lab.SetRules(set)
			wantRules(t, lab, set)
		}
	}
}

// Rules that are left out are counted, as long as they are.
func TestReplaceGivesWay(t *testing.T) {
	lab := newLab(t, 0)
	block := progtest.Block("10.0.0.1/32")
	limit := progtest.Limit("10.0.0.1/32", 1, progtest.Packets("1pps", 5))
	lab.SetRules(until(progtest.Start+100, limit), block)
	r := replace(t, lab, fromConfig(block), fromConfig(limit), fromConfig(progtest.Allow("10.0.0.1/32")))
	if r.GaveWay != 2 {
		t.Errorf("%d gave way, want 2", r.GaveWay)
	}
	wantRules(t, lab, fromConfig(progtest.Allow("10.0.0.1/32")), block, until(progtest.Start+100, limit))
	lab.SetClock(progtest.Start + 100)
	if r := replace(t, lab, fromConfig(limit)); r.GaveWay != 0 {
		t.Errorf("%d gave way to what has ended", r.GaveWay)
	}
	wantRules(t, lab, block, fromConfig(limit))
}

// Where there is no room, or a limit is wrong, nothing is changed.
func TestReplaceOrNothing(t *testing.T) {
	lab := newLab(t, 3)
	before := []rulemap.Rule{fromConfig(progtest.Block("10.0.0.1/32")), fromConfig(progtest.Block("10.0.0.2/32")), progtest.Block("10.0.0.3/32")}
	lab.SetRules(before...)
	tooMany := []rulemap.Rule{progtest.Allow("10.0.0.1/32"), progtest.Block("10.0.0.4/32")}
	if _, err := lab.Rules.Replace(rulemap.Config, slices.Values(tooMany), nil); !errors.Is(err, rulemap.ErrFull) {
		t.Errorf("%v, want ErrFull", err)
	}
	bad := []rulemap.Rule{progtest.Block("10.0.0.1/32"), {Prefix: before[0].Prefix, Action: rulemap.Limit, Until: rulemap.Forever, Limit: wire.Limit{Packets: wire.Quota{Burst: 1}}}}
	if _, err := lab.Rules.Replace(rulemap.Config, slices.Values(bad), nil); err == nil {
		t.Error("no error for a limit without a rate")
	}
	wantRules(t, lab, before...)
	wantCounts(t, lab, 3, 0)

	// As if the count were wrong: the kernel finds the map full half way.
	setCounts(t, lab, 0, 0)
	if _, err := lab.Rules.Replace(rulemap.Config, slices.Values(tooMany), nil); err == nil {
		t.Error("a write beyond the table is no error")
	}
	wantRules(t, lab, before...)
	wantCounts(t, lab, 3, 0)
}

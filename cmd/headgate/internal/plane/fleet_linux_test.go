package plane

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/fleet"
	"github.com/headgate/headgate/userspace/handdown"
)

// person and elsewhere are rules of the fleet: what somebody says, and what another machine has handed down.
func person(action config.Action, prefix string, period time.Duration) fleet.Rule {
	return fleet.Rule{Prefix: netip.MustParsePrefix(prefix), Action: action, For: period, By: "other", Person: true}
}

func elsewhere(prefix string) fleet.Rule {
	return fleet.Rule{Prefix: netip.MustParsePrefix(prefix), Action: config.Block, For: time.Hour, By: "other"}
}

// setFleet sets rules, with what the plane knows of those in force read from the kernel.
func (l *lab) setFleet(rules ...fleet.Rule) {
	l.Helper()
	l.plane.fleet.held.forget()
	l.must(l.plane.SetFleet(rules))
}

// The rules of the fleet are those of the last call, beside those of others, which go first.
func TestSetFleet(t *testing.T) {
	l := newLab(t)
	l.apply(defaultLimit(10), rules(block("198.51.100.0/24"), limited("192.0.2.99/32", "", 7)))
	l.must(l.plane.Enforce([]handdown.Rule{offender("203.0.113.9/32")}))
	limit := person(config.Limit, "203.0.113.8/32", 0)
	limit.Limit = limitTo(2)
	given := limit
	given.Prefix = netip.MustParsePrefix("192.0.2.99/32")
	shorter := elsewhere("203.0.113.9/32")
	shorter.For = time.Minute
	l.must(l.plane.SetFleet([]fleet.Rule{
		elsewhere("203.0.113.7/32"), person(config.Allow, "198.51.100.20/32", 0), person(config.Block, "198.51.100.0/24", 0), limit, given, shorter,
		person(config.Block, "203.0.113.77/32", time.Hour),
	}))
	l.wantRules("limit 192.0.2.99/32 config", "block 198.51.100.0/24 config", "allow 198.51.100.20/32 fleet",
		"block 203.0.113.7/32 fleet", "limit 203.0.113.8/32 fleet", "block 203.0.113.9/32 handdown", "block 203.0.113.77/32 fleet")
	l.wantPassed("203.0.113.7", 80, 20, 0)
	l.wantPassed("203.0.113.8", 80, 20, 2)
	l.wantPassed(modest, 80, 20, 20)
	k, err := l.plane.Snapshot()
	l.must(err)
	for _, r := range k.Rules { // of both kinds together
		want := map[string]int{"allow": 1, "block": 2, "limit": 1}[r.Action]
		if r.Origin == "fleet" && r.Count != want {
			t.Errorf("%d rules of the fleet say %s, want %d", r.Count, r.Action, want)
		}
	}

	l.must(l.plane.SetFleet([]fleet.Rule{elsewhere("203.0.113.10/32"), limit}))
	l.wantRules("limit 192.0.2.99/32 config", "block 198.51.100.0/24 config", "limit 203.0.113.8/32 fleet",
		"block 203.0.113.9/32 handdown", "block 203.0.113.10/32 fleet")
	l.wantPassed("203.0.113.7", 80, 20, 10)
	l.wantPassed("203.0.113.8", 80, 20, 0) // its bucket is as before

	// They outlive the agent, whose successor knows which are the fleet's.
	l.restart()
	l.apply(defaultLimit(10))
	l.must(l.plane.SetFleet([]fleet.Rule{limit}))
	l.wantRules("limit 203.0.113.8/32 fleet", "block 203.0.113.9/32 handdown")
	l.must(l.plane.SetFleet(nil))
	l.wantRules("block 203.0.113.9/32 handdown")
}

// An end is kept where it is nearly the same, and moved where it is not; a rule may become one of another kind.
func TestFleetsEnds(t *testing.T) {
	l := newLab(t)
	l.apply()
	end := func() uint64 {
		t.Helper()
		all := l.state().Rules
		if len(all) != 1 {
			t.Fatalf("rules %+v", all)
		}
		return all[0].Until
	}
	r := elsewhere("203.0.113.7/32")
	l.must(l.plane.SetFleet([]fleet.Rule{r}))
	first := end()
	r.For -= 100 * time.Millisecond
	l.must(l.plane.SetFleet([]fleet.Rule{r}))
	if end() != first {
		t.Error("the rule was written again, with nearly the same end")
	}
	r.For = time.Minute
	l.must(l.plane.SetFleet([]fleet.Rule{r}))
	if end() > first-uint64(50*time.Minute) {
		t.Error("the rule is not shorter")
	}
	r.For, r.Person = 30*time.Second, true
	l.must(l.plane.SetFleet([]fleet.Rule{r}))
	if o := l.state().Rules[0].Origin; o != rulemap.Fleet {
		t.Errorf("origin %d, want a person's", o)
	}
	r.For = 0
	l.must(l.plane.SetFleet([]fleet.Rule{r}))
	if end() != rulemap.Forever {
		t.Error("the rule has an end still")
	}
	r.For = -1
	l.must(l.plane.SetFleet([]fleet.Rule{r}))
	l.wantRules()
}

// A limit that is another one than before is, at the same end.
func TestFleetsLimitChanges(t *testing.T) {
	l := newLab(t)
	l.apply()
	limit := person(config.Limit, flooder+"/32", 0)
	for _, packets := range []uint64{2, 7} {
		limit.Limit = limitTo(packets)
		l.must(l.plane.SetFleet([]fleet.Rule{limit}))
		if got := l.state().Rules[0].Limit; got != wireTo(packets) {
			t.Errorf("limit %s, want %s", got, wireTo(packets))
		}
	}
}

// A rule that gave way, or was removed by hand, is there when it is asked for again.
func TestFleetsRuleComesBack(t *testing.T) {
	l := newLab(t)
	l.apply(rules(block("203.0.113.7/32")))
	mine, theirs := person(config.Block, "203.0.113.7/32", 0), elsewhere("203.0.113.8/32")
	l.must(l.plane.SetFleet([]fleet.Rule{mine, theirs}))
	l.wantRules("block 203.0.113.7/32 config", "block 203.0.113.8/32 fleet")
	l.apply()
	l.must(l.plane.SetFleet([]fleet.Rule{mine, theirs}))
	l.wantRules("block 203.0.113.7/32 fleet", "block 203.0.113.8/32 fleet")
	l.cli(func(i *loader.Instance) error {
		_, err := i.Rules().Unset([]netip.Prefix{mine.Prefix})
		return err
	})
	l.setFleet(mine, theirs)
	l.wantRules("block 203.0.113.7/32 fleet", "block 203.0.113.8/32 fleet")

	// That a rule gave way is known without reading all of them again.
	now := time.Now()
	l.plane.options.Now = func() time.Time { return now }
	command := rulemap.Rule{Prefix: netip.MustParsePrefix("203.0.113.9/32"), Action: rulemap.Block, Until: rulemap.Forever}
	l.cli(func(i *loader.Instance) error { return i.Rules().Set(command) })
	later := elsewhere("203.0.113.9/32")
	l.must(l.plane.SetFleet([]fleet.Rule{later}))
	l.wantRules("block 203.0.113.9/32 cli")
	l.cli(func(i *loader.Instance) error {
		_, err := i.Rules().Unset([]netip.Prefix{command.Prefix})
		return err
	})
	l.must(l.plane.SetFleet([]fleet.Rule{later}))
	l.wantRules("block 203.0.113.9/32 fleet")
}

// What this machine cannot have does not keep the others out, and is told once.
func TestFleetsRulesThatAreNotForHere(t *testing.T) {
	l := newLab(t)
	l.apply(rules(allow("10.0.0.0/8")))
	part := person(config.Limit, "2001:db8::1/128", 0)
	part.Limit = limitTo(2)
	endless := person(config.Limit, "192.0.2.8/32", 0)
	endless.Limit = config.KernelLimit{Rate: limitTo(1).Rate, Burst: 1 << 63}
	nothing := person(config.Limit, "192.0.2.9/32", 0)
	all := []fleet.Rule{
		elsewhere("10.0.0.1/32"), person(config.Block, "10.0.0.2/32", 0), part, endless, nothing,
		person(config.Allow, "203.0.113.0/24", 0), elsewhere("203.0.113.7/32"), elsewhere("198.51.100.7/32"),
	}
	l.setFleet(all...)
	l.setFleet(all...)
	l.wantRules("allow 10.0.0.0/8 config", "block 10.0.0.2/32 fleet", "block 198.51.100.7/32 fleet", "allow 203.0.113.0/24 fleet")
	for prefix, want := range map[string]string{
		"10.0.0.1/32": "an allow rule has to do with it", "203.0.113.7/32": "an allow rule has to do with it",
		"2001:db8::1/128": "is a part of one", "192.0.2.8/32": "packet limit", "192.0.2.9/32": "it limits nothing",
	} {
		var lines []string
		for line := range strings.Lines(l.log.String()) {
			if strings.Contains(line, "prefix="+prefix+" ") {
				lines = append(lines, line)
			}
		}
		if len(lines) != 1 || !strings.Contains(lines[0], want) {
			t.Errorf("%s: %q, want %q once", prefix, lines, want)
		}
	}
	// What is allowed here since lifts it at once, and keeps it out.
	l.must(l.plane.SetRule(allow("198.51.100.0/24"), 0))
	l.wantPassed("198.51.100.7", 80, 5, 5)
	l.setFleet(all...)
	l.wantPassed("198.51.100.7", 80, 5, 5)
	l.wantPassed("10.0.0.2", 80, 5, 0) // a person means what he says
}

// What another machine has a place for does not keep a file of this one from being applied.
func TestFleetsLimitIsNoReasonToRefuseAFile(t *testing.T) {
	l := newLab(t)
	l.apply()
	limit := person(config.Limit, "2001:db8:1:2::/64", 0)
	limit.Limit = limitTo(2)
	l.must(l.plane.SetFleet([]fleet.Rule{limit}))
	l.apply(func(k *config.Kernel) { k.IPv6Prefix = 48 })
	l.must(l.plane.SetFleet([]fleet.Rule{limit}))
	l.wantRules()
}

// All or none.
func TestSetFleetWithoutRoom(t *testing.T) {
	l := newLab(t)
	l.apply(func(k *config.Kernel) { k.MaxRules = 2 })
	one, two, three := elsewhere("203.0.113.1/32"), elsewhere("203.0.113.2/32"), elsewhere("203.0.113.3/32")
	l.must(l.plane.SetFleet([]fleet.Rule{one}))
	if err := l.plane.SetFleet([]fleet.Rule{one, two, three}); !errors.Is(err, rulemap.ErrFull) {
		t.Errorf("%v, want ErrFull", err)
	}
	l.wantRules("block 203.0.113.1/32 fleet")
	l.must(l.plane.SetFleet([]fleet.Rule{two, one}))
	l.wantRules("block 203.0.113.1/32 fleet", "block 203.0.113.2/32 fleet")
}

// Who is dropped by the fleet proves anew who he is, and who is allowed need not.
func TestFleetsOffendersAreUnverified(t *testing.T) {
	l := newLab(t)
	const limitedHere = "192.0.2.99"
	l.apply(rules(limited(limitedHere+"/32", "", 7)))
	l.must(l.plane.Verify([]netip.Addr{netip.MustParseAddr(flooder), netip.MustParseAddr(modest), netip.MustParseAddr(limitedHere)}, time.Hour))
	limit := person(config.Limit, limitedHere+"/32", 0)
	limit.Limit = limitTo(2)
	l.must(l.plane.SetFleet([]fleet.Rule{elsewhere(flooder + "/32"), person(config.Allow, modest+"/32", 0), limit}))
	for source, want := range map[string]bool{flooder: false, modest: true, limitedHere: true} {
		if got := l.verified(source); got != want {
			t.Errorf("%s is verified: %t", source, got)
		}
	}
}

// What the fleet allows protects, as soon as it does, and what it blocks is told of that very prefix.
func TestFleetProtectsAndBlocks(t *testing.T) {
	l := newLab(t)
	l.apply(rules(block("192.0.2.77/32")))
	want := func(prefix, reason string) {
		t.Helper()
		l.must(l.host.Do(func() error {
			got, err := l.plane.Protected(netip.MustParsePrefix(prefix))
			if got != reason {
				t.Errorf("%s: %q, want %q", prefix, got, reason)
			}
			return err
		}))
	}
	want("203.0.113.0/24", "")
	l.must(l.plane.SetFleet([]fleet.Rule{
		person(config.Allow, "203.0.113.0/28", 0), elsewhere("198.51.100.7/32"), person(config.Block, "192.0.2.77/32", 0), person(config.Block, "2001:db8::/32", 0),
	}))
	want("203.0.113.0/24", "an allow rule for 203.0.113.0/28 (fleet)")
	want("203.0.113.1/32", "an allow rule for 203.0.113.0/28 (fleet)")
	for prefix, want := range map[string]time.Duration{
		"198.51.100.7/32": time.Hour, "198.51.100.0/24": 0, "203.0.113.0/28": 0, "192.0.2.77/32": 0, "2001:db8::/32": 1<<63 - 1,
	} {
		r, err := l.plane.FleetRule(netip.MustParsePrefix(prefix))
		l.must(err)
		if r.For > want || r.For < want-time.Minute || want > 0 && r.Action != config.Block {
			t.Errorf("%s: %+v, want %s", prefix, r, want)
		}
	}
	l.must(l.plane.SetFleet(nil))
	want("203.0.113.0/24", "")
}

// What this machine handed down is lifted at these very prefixes, and nothing else is.
func TestLift(t *testing.T) {
	l := newLab(t)
	l.apply(defaultLimit(10), rules(block("203.0.113.8/32")))
	l.must(l.plane.Enforce([]handdown.Rule{offender("203.0.113.7/32"), offender("203.0.113.8/32"), offender("203.0.113.9/32")}))
	l.must(l.plane.SetFleet([]fleet.Rule{person(config.Block, "198.51.100.7/32", 0)}))
	var all []netip.Prefix
	for _, prefix := range []string{"203.0.113.7/32", "203.0.113.8/32", "198.51.100.7/32", "192.0.2.0/24"} {
		all = append(all, netip.MustParsePrefix(prefix))
	}
	l.must(l.plane.Lift(all))
	l.wantRules("block 198.51.100.7/32 fleet", "block 203.0.113.8/32 config", "block 203.0.113.9/32 handdown")
	l.must(l.plane.Lift(nil))
}

package bpf_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/test/progtest"
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, s := range texts {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

func until(end uint64, rule rulemap.Rule) rulemap.Rule {
	rule.Until = end
	return rule
}

// The longest prefix wins, whatever it says.
func TestCase20LongestPrefixWins(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1kpps", 100))
	id := lab.PolicyID("default")
	rules := []rulemap.Rule{
		progtest.Block("10.0.0.0/8"),
		progtest.Allow("10.1.2.0/24"),
		progtest.Limit("10.1.2.3/32", id, progtest.Packets("1pps", 2)),
		progtest.Block("2001:db8::/32"),
		progtest.Allow("2001:db8:1::/48"),
		progtest.Limit("2001:db8:1:2::/64", id, progtest.Packets("1pps", 2)),
		progtest.Block("2001:db8:1:2::bad/128"),
	}
	slices.Reverse(rules) // the order in which they were made means nothing
	lab.SetRules(rules...)

	for _, limited := range []string{"10.1.2.3", "2001:db8:1:2::1"} {
		wantBurst(t, lab, udp(limited), 2, overPackets)
	}
	wantRuns(t, lab, allowed, udp("10.1.2.4"), udp("10.1.2.0"), udp("10.1.2.255"), udp("2001:db8:1:3::1"))
	wantRuns(t, lab, blocked, udp("10.9.9.9"), udp("10.0.0.0"), udp("10.255.255.255"), udp("10.1.3.0"),
		udp("2001:db8:2::1"), udp("2001:db8:1:2::bad"), udp6("::ffff:10.9.9.9"))
	wantRuns(t, lab, underLimit, udp("9.255.255.255"), udp("11.0.0.0"), udp("2001:db9::"))
}

func TestCase20AtOnePrefixAllowBeforeBlockBeforeLimit(t *testing.T) {
	for _, prefix := range []string{alice + "/32", "203.0.113.0/24", "0.0.0.0/0"} {
		t.Run(prefix, func(t *testing.T) {
			lab := newLab(t)
			lab.SetDefault(progtest.Packets("1kpps", 100))
			limit := progtest.Limit(prefix, lab.PolicyID("default"), progtest.Packets("1pps", 1))

			lab.SetRules(limit)
			wantBurst(t, lab, udp(alice), 1, overPackets)
			lab.SetRules(progtest.Block(prefix))
			wantRuns(t, lab, blocked, udp(alice))
			lab.SetRules(progtest.Allow(prefix))
			wantRuns(t, lab, allowed, udp(alice))
			lab.SetRules(limit, progtest.Block(prefix))
			wantRuns(t, lab, allowed, udp(alice))
		})
	}
}

// The prefixes of no bits are rules like others, and each family has its own.
func TestCase20EverythingAsAPrefix(t *testing.T) {
	lab := newLab(t)
	lab.SetRules(progtest.Block("0.0.0.0/0"))
	wantRuns(t, lab, blocked, udp(alice), udp("0.0.0.0"), udp("255.255.255.255"))
	wantRuns(t, lab, noPolicy, udp("2001:db8::1"), udp("::"))

	lab.SetRules(progtest.Allow("::/0"), progtest.Block("2001:db8::/32"), progtest.Allow(alice+"/32"))
	wantRuns(t, lab, allowed, udp("2001:db9::1"), udp("::"), udp("ffff::"), udp(alice))
	wantRuns(t, lab, blocked, udp("2001:db8::1"), udp(bob))

	if _, err := lab.Rules.Unset(prefixes("0.0.0.0/0", "::/0")); err != nil {
		t.Fatal(err)
	}
	wantRuns(t, lab, noPolicy, udp(bob), udp("2001:db9::1"))
	wantRuns(t, lab, blocked, udp("2001:db8::1"))
}

// A rule that has ended is as if it were not there: the next shorter one holds.
func TestCase20EndedRulesFallBackToShorterPrefixes(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1kpps", 100))
	in := func(seconds uint64) uint64 { return progtest.Start + seconds*uint64(time.Second) }
	lab.SetRules(
		progtest.Allow("0.0.0.0/0"),
		until(in(40), progtest.Block("203.0.0.0/16")),
		until(in(30), progtest.Allow("203.0.113.0/24")),
		until(in(20), progtest.Block("203.0.113.0/25")),
		until(in(10), progtest.Limit(alice+"/32", lab.PolicyID("default"), progtest.Packets("1pps", 1))),
	)
	for _, step := range []struct {
		second uint64
		want   progtest.Outcome
	}{
		{0, underLimit}, {9, underLimit}, {10, blocked}, {19, blocked}, {20, allowed}, {29, allowed},
		{30, blocked}, {39, blocked}, {40, allowed}, {1 << 20, allowed},
	} {
		lab.SetClock(in(step.second))
		wantRuns(t, lab, step.want, udp(alice))
	}
	lab.SetClock(in(40) - 1)
	wantRuns(t, lab, blocked, udp(alice))
}

// Rules at each length of prefix, all but the shortest ended: the walk down is bounded by the bits.
func TestCase20EveryLengthHasEnded(t *testing.T) {
	lab := newLab(t)
	for source, bits := range map[string]int{alice: 32, "2001:db8:1:2:3:4:5:6": 128} {
		var rules []rulemap.Rule
		for n := 1; n <= bits; n++ {
			prefix := netip.PrefixFrom(addr(source), n).Masked().String()
			rules = append(rules, until(progtest.Start+1, progtest.Allow(prefix)))
		}
		everything := netip.PrefixFrom(addr(source), 0).Masked().String()
		lab.SetClock(progtest.Start)
		lab.SetRules(append(rules, progtest.Block(everything))...)
		wantRuns(t, lab, allowed, udp(source))
		lab.SetClock(progtest.Start + 1)
		wantRuns(t, lab, blocked, udp(source))
	}
}

// Each source in a limited prefix has a bucket of its own.
func TestLimitRuleCountsEachSource(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1kpps", 100))
	lab.SetRules(progtest.Limit("203.0.113.0/24", lab.PolicyID("default"), progtest.Packets("1pps", 3)))
	wantBurst(t, lab, udp(alice), 3, overPackets)
	wantBurst(t, lab, udp(bob), 3, overPackets)
	wantBurst(t, lab, udp("203.0.114.1"), 100, overPackets)
}

// A limit is for the policy that it names, and others keep theirs.
func TestLimitRuleIsForOnePolicy(t *testing.T) {
	lab := newLab(t)
	dns := udpPort("dns", 53)
	dns.Limit = progtest.Packets("1pps", 10)
	lab.SetPolicy(dns)
	lab.SetDefault(progtest.Packets("1pps", 5))
	lab.SetRules(progtest.Limit(alice+"/32", lab.PolicyID("dns"), progtest.Packets("1pps", 2)))
	wantBurst(t, lab, udp(alice), 2, overPackets)
	wantBurst(t, lab, udp(bob), 5, overPackets)

	// Of a policy that is gone it says nothing.
	lab.DeletePolicy("dns")
	lab.SetPolicy(dns)
	lab.Advance(time.Hour)
	wantBurst(t, lab, udp(alice), 5, overPackets)
}

// A source with a limit of its own is not in the bucket that the others share: its limit would
// cut what they owe.
func TestLimitRuleOfASharedPolicy(t *testing.T) {
	lab := newLab(t)
	lab.SetPolicy(policymap.Policy{Name: "all", Key: policymap.Shared, Limit: progtest.Packets("1pps", 4)})
	lab.SetRules(progtest.Limit(alice+"/32", lab.PolicyID("all"), progtest.Packets("1pps", 1)))
	wantRuns(t, lab, underLimit, udp(bob), udp(bob), udp(alice), udp(bob), udp(bob))
	wantRuns(t, lab, overPackets, udp(alice), udp(bob), udp(alice), udp(bob))
	wantSources(t, lab, alice)
}

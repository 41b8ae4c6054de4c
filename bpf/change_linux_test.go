package bpf_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/progtest"
)

// A change holds from the next packet on, in both directions, and old debt is cut to the burst.
func TestCase14LiveChange(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1kpps", 1000))
	wantCounts(t, lab.RunN(udp(alice), 1000), counts(100, map[progtest.Outcome]int{underLimit: 1000}))

	lab.SetDefault(progtest.Packets("10pps", 10))
	wantRuns(t, lab, overPackets, udp(alice))
	lab.Advance(100*time.Millisecond - 1)
	wantRuns(t, lab, overPackets, udp(alice))
	lab.Advance(1)
	wantRuns(t, lab, underLimit, udp(alice))
	wantRuns(t, lab, overPackets, udp(alice))

	// Raised: what is owed is a second at most, and not the minutes at the old rate.
	lab.SetDefault(progtest.Packets("1ppm", 10))
	wantRuns(t, lab, underLimit, udp(bob))
	wantRuns(t, lab, underLimit, udp(alice)) // its debt of 1 s is less than one packet now
	lab.SetDefault(progtest.Packets("1kpps", 1))
	wantRuns(t, lab, overPackets, udp(alice))
	lab.Advance(time.Millisecond)
	wantRuns(t, lab, underLimit, udp(alice))
}

// Debt keeps its time where the unit of time changes with the limit.
func TestCase14ChangeBetweenFineAndCoarseTicks(t *testing.T) {
	lab := newLab(t)
	fine, coarse := progtest.Packets("99Mpps", 1e6), progtest.Packets("1kpps", 20)
	lab.SetDefault(fine)
	wantCounts(t, lab.RunN(udp(alice), 990000), counts(100, map[progtest.Outcome]int{underLimit: 990000}))
	// 990,000 packets at 99 Mpps are 10 ms, which are 10 packets at 1 kpps.
	lab.SetDefault(coarse)
	got := lab.RunN(udp(alice), 20)
	passed := got[underLimit].Packets
	if passed < 9 || passed > 10 {
		t.Errorf("%d of 20 packets passed after 10 ms of debt, want 9 or 10", passed)
	}
	lab.SetDefault(fine)
	// The debt of 20 ms is cut to the burst of 10.1 ms.
	wantRuns(t, lab, overPackets, udp(alice))
	lab.Advance(time.Microsecond)
	got = lab.RunN(udp(alice), 200)
	if passed := got[underLimit].Packets; passed != 99 && passed != 98 {
		t.Errorf("%d packets passed in 1 µs at 99 Mpps, want 98 or 99", passed)
	}
}

// A debt that is more than the new burst is cut to it also where the ticks become coarser.
func TestCase14DebtIsCutToTheBurst(t *testing.T) {
	for _, fine := range []string{"99Mpps", "100Mpps"} {
		lab := newLab(t)
		lab.SetDefault(progtest.Packets(fine, 1e6))
		wantCounts(t, lab.RunN(udp(alice), 1e6), counts(100, map[progtest.Outcome]int{underLimit: 1e6}))
		// 10 ms are owed, and may be 3 ms.
		lab.SetDefault(progtest.Packets("1kpps", 3))
		wantRuns(t, lab, overPackets, udp(alice))
		lab.Advance(time.Millisecond - 1)
		wantRuns(t, lab, overPackets, udp(alice))
		lab.Advance(1)
		wantRuns(t, lab, underLimit, udp(alice))
		wantRuns(t, lab, overPackets, udp(alice))
	}
}

// A rule's limit holds at the next packet, and is gone when the rule is.
func TestCase14OverrideIsReallyGone(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1kpps", 1000))
	id := lab.PolicyID("default")
	wantCounts(t, lab.RunN(udp(alice), 500), counts(100, map[progtest.Outcome]int{underLimit: 500}))

	lab.SetRules(progtest.Limit(alice+"/32", id, progtest.Packets("10pps", 10)))
	wantRuns(t, lab, underLimit, udp(bob))
	lab.Advance(time.Second)
	wantCounts(t, lab.RunN(udp(alice), 20), counts(100, map[progtest.Outcome]int{underLimit: 10, overPackets: 10}))

	if _, err := lab.Rules.Unset(prefixes(alice + "/32")); err != nil {
		t.Fatal(err)
	}
	if rules, err := lab.Rules.List(); err != nil || len(rules) != 0 {
		t.Errorf("rules: %v, %v; want none", rules, err)
	}
	// Its debt was a second at 10 pps, and that is the whole burst at 1 kpps.
	wantRuns(t, lab, overPackets, udp(alice))
	lab.Advance(time.Second)
	wantCounts(t, lab.RunN(udp(alice), 1001), counts(100, map[progtest.Outcome]int{underLimit: 1000, overPackets: 1}))
}

// Under a flood no packet sees anything but the limit before a change or the one after.
func TestRuleChangesDuringAFlood(t *testing.T) {
	need.CPUs(t, 2)
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1pph", 1))
	wantRuns(t, lab, underLimit, udp(alice))

	limits := []wire.Limit{progtest.Packets("1pph", 1), progtest.Packets("2pph", 1), progtest.Bytes("1B/s", 100)}
	done := make(chan progtest.Counts)
	go func() {
		done <- lab.Parallel(progtest.Load{Frame: udp(alice), N: 400000})[0]
	}()
	writer := lab.For(t)
	for i := range 30 {
		writer.SetDefault(limits[i%2])
	}
	// A frozen clock earns nothing under any of the limits.
	wantCounts(t, <-done, counts(100, map[progtest.Outcome]int{overPackets: 400000}))
}

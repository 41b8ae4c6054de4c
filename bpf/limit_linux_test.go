package bpf_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/progtest"
)

// There is no window at whose edge twice the limit passes.
func TestCase06NoSecondBurstAcrossAWindow(t *testing.T) {
	const n, second = 1000, uint64(time.Second)
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1kpps", n))

	lab.SetClock(1000*second - uint64(time.Millisecond)) // 1 ms before a full second
	wantCounts(t, lab.RunN(udp(alice), n), counts(100, map[progtest.Outcome]int{underLimit: n}))
	lab.SetClock(1000*second + uint64(time.Millisecond))
	// 2 ms at 1000 packets a second.
	wantCounts(t, lab.RunN(udp(alice), n), counts(100, map[progtest.Outcome]int{underLimit: 2, overPackets: n - 2}))
}

// From an idle source exactly the burst passes, not one less and not one more.
func TestCase09ExactlyTheBurst(t *testing.T) {
	tests := []struct {
		rate  string
		burst uint64
	}{
		{"1pps", 1}, {"1pps", 2}, {"5pps", 5}, {"1000pps", 1000}, {"1pph", 1}, {"1pph", 3},
		{"100Mpps", 1}, {"100Mpps", 7}, {"3pps", 3}, {"30Mpps", 100}, {"7ppm", 11}, {"999999pps", 64},
	}
	lab := newLab(t)
	for i, tt := range tests {
		t.Run(tt.rate, func(t *testing.T) {
			lab := lab.For(t)
			lab.SetDefault(progtest.Packets(tt.rate, tt.burst))
			source := addr("10.0.0.1")
			for range i {
				source = source.Next()
			}
			wantBurst(t, lab, udp(source.String()), int(tt.burst), overPackets)
		})
	}
}

// One more passes at the very nanosecond when it is earned, and not before.
func TestCase09RefillToTheNanosecond(t *testing.T) {
	tests := []struct {
		rate string
		earn time.Duration // rounded up
	}{
		{"5pps", 200 * time.Millisecond},
		{"1pps", time.Second},
		{"1pph", time.Hour},
		{"1Mpps", time.Microsecond},
		{"3pps", 333333334},
		{"30Mpps", 34},
		{"100Mpps", 10},
	}
	lab := newLab(t)
	for i, tt := range tests {
		t.Run(tt.rate, func(t *testing.T) {
			lab := lab.For(t)
			lab.SetDefault(progtest.Packets(tt.rate, 4))
			frame := udp(addr("10.0.0.0").Next().String())
			lab.Advance(time.Duration(i+1) * 100 * time.Hour) // whatever was owed is paid
			wantRuns(t, lab, underLimit, frame, frame, frame, frame)
			lab.Advance(tt.earn - 1)
			wantRuns(t, lab, overPackets, frame)
			lab.Advance(1)
			wantRuns(t, lab, underLimit, frame)
			wantRuns(t, lab, overPackets, frame)
		})
	}
}

// A clock that goes back, as one CPU's may behind another's, gives nothing away.
func TestClockBackwards(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("10pps", 3))
	wantRuns(t, lab, underLimit, udp(alice), udp(alice), udp(alice))
	for _, back := range []time.Duration{1, time.Microsecond, time.Millisecond, 500 * time.Millisecond} {
		lab.Advance(-back)
		wantRuns(t, lab, overPackets, udp(alice))
		lab.Advance(back)
	}
	lab.Advance(100 * time.Millisecond)
	wantRuns(t, lab, underLimit, udp(alice))
}

// A packet that does not fit in one dimension is charged in neither.
func TestBytesAndPacketsChargeAllOrNone(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Both(progtest.Packets("1pps", 3), progtest.Bytes("1B/s", 1000)))
	big := packet.UDPFrame(alice, dst4, 53, 901-28)
	wantRuns(t, lab, underLimit, udp(alice))
	wantRuns(t, lab, overBytes, big, big, big) // of packets there are two left, still
	wantRuns(t, lab, underLimit, udp(alice), udp(alice))
	wantRuns(t, lab, overPackets, udp(alice), big) // of bytes there are 700 left, still
	lab.Advance(time.Second)
	wantRuns(t, lab, underLimit, packet.UDPFrame(alice, dst4, 53, 701-28))
}

// A packet must pass all policies that match, and is charged to all or none.
func TestPoliciesChargeAllOrNone(t *testing.T) {
	lab := newLab(t)
	web := tcpPort("web", 80)
	web.Limit = progtest.Packets("1pps", 2)
	all := policymap.Policy{Name: policymap.Default, Limit: progtest.Packets("1pps", 5)}
	lab.SetPolicy(web, all)

	toWeb, other := packet.TCPFrame(alice, dst4, 80, packet.SYN), packet.TCPFrame(alice, dst4, 81, packet.SYN)
	wantRuns(t, lab, underLimit, toWeb, toWeb)
	wantRuns(t, lab, overPackets, toWeb, toWeb, toWeb, toWeb)
	wantRuns(t, lab, underLimit, other, other, other)
	wantRuns(t, lab, overPackets, other, toWeb)
	lab.Advance(time.Second)
	wantRuns(t, lab, underLimit, toWeb)

	if got := lab.Counted("web"); got.Pass.Packets != 3 || got.Drop.Packets != 5 {
		t.Errorf("web counted %+v, want 3 passed and 5 dropped", got)
	}
	// The refusals of web did not come so far.
	if got := lab.Counted("default"); got.Pass.Packets != 6 || got.Drop.Packets != 1 {
		t.Errorf("default counted %+v, want 6 passed and 1 dropped", got)
	}
}

// The order of policies says who is asked first, never who is charged.
func TestPoliciesChargeAllOrNoneInTheOtherOrder(t *testing.T) {
	lab := newLab(t)
	web := tcpPort("web", 80)
	web.Limit = progtest.Packets("1pps", 2)
	lab.SetDefault(progtest.Packets("1pps", 5))
	lab.SetPolicy(web)

	toWeb, other := packet.TCPFrame(alice, dst4, 80, packet.SYN), packet.TCPFrame(alice, dst4, 81, packet.SYN)
	wantRuns(t, lab, underLimit, toWeb, toWeb)
	wantRuns(t, lab, overPackets, toWeb, toWeb, toWeb, toWeb)
	wantRuns(t, lab, underLimit, other, other, other)
	wantRuns(t, lab, overPackets, other)
}

// All that match share one bucket, whoever they are, and nobody has one of his own.
func TestSharedPolicy(t *testing.T) {
	lab := newLab(t)
	lab.SetPolicy(policymap.Policy{Name: "all", Key: policymap.Shared, Limit: progtest.Packets("1pps", 3)})
	wantRuns(t, lab, underLimit, udp(alice), udp(bob), udp("2001:db8::1"))
	wantRuns(t, lab, overPackets, udp(alice), udp(bob), udp("2001:db8::1"), udp("192.0.2.77"))
	lab.Advance(time.Second)
	wantRuns(t, lab, underLimit, udp(bob))
	wantRuns(t, lab, overPackets, udp(alice))
	wantSources(t, lab)
}

// A new policy in the place of an old one finds an empty shared bucket.
func TestSharedBucketsOfASlotStartEmpty(t *testing.T) {
	lab := newLab(t)
	shared := policymap.Policy{Name: "old", Key: policymap.Shared, Limit: progtest.Packets("1pph", 1)}
	lab.SetPolicy(shared)
	wantRuns(t, lab, underLimit, udp(alice))
	wantRuns(t, lab, overPackets, udp(alice))
	lab.DeletePolicy("old")
	shared.Name = "new"
	lab.SetPolicy(shared)
	wantRuns(t, lab, underLimit, udp(alice))
	wantRuns(t, lab, overPackets, udp(alice))
}

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
	progtest.NeedCPUs(t, 2)
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

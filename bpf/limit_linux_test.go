package bpf_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/maps/policymap"
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

package bpf_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/progtest"
)

// race is a source that two CPUs send from at once, while the clock stands still.
type race struct {
	rounds int // at least
	burst  int // that must pass in each round
	prime  func(lab *progtest.Lab, frame []byte)
}

// run checks that exactly the burst passes in each round, with a new source in each. Packets
// beyond it are refused for any reason of a limit; where a CPU runs out of tries, its packet is
// refused and the next one takes its place.
//
// A round proves something where both CPUs let some of the burst pass, so that neither was late;
// there must be one. On a busy machine few do, so that more rounds follow where none did. It returns
// how many there were.
func (r race) run(t *testing.T, lab *progtest.Lab) (rounds int) {
	t.Helper()
	const most = 500 // whose buckets all have room
	lab = lab.For(t)
	source, overlapped := netip.MustParseAddr("10.0.0.0"), 0
	for ; rounds < r.rounds || overlapped == 0 && rounds < most; rounds++ {
		source = source.Next()
		frame := udp(source.String())
		if r.prime != nil {
			r.prime(lab, frame)
		}
		before := lab.Counts()
		load := progtest.Load{Frame: frame, N: 2 * r.burst}
		cpus := lab.Parallel(load, load)
		lab.RunN(frame, 3) // takes what the last refund gave back
		if passed := lab.Counts().Since(before)[underLimit].Packets; passed != uint64(r.burst) {
			t.Fatalf("%s: %d passed on two CPUs, want %d", source, passed, r.burst)
		}
		if cpus[0][underLimit].Packets > 0 && cpus[1][underLimit].Packets > 0 {
			overlapped++
		}
	}
	t.Logf("in %d of %d rounds both CPUs were within the burst", overlapped, rounds)
	if overlapped == 0 {
		t.Errorf("the CPUs were never within a burst together: this run proves nothing")
	}
	return rounds
}

func newRaceLab(t *testing.T) *progtest.Lab {
	t.Helper()
	need.CPUs(t, 2)
	return newLab(t)
}

// The burst is one for all CPUs, to the packet.
func TestCase07ExactlyTheBurstOnTwoCPUs(t *testing.T) {
	tests := []struct {
		name  string
		limit wire.Limit
		burst int
	}{
		{"whole cost", progtest.Packets("1kpps", 5000), 5000},
		{"cost of a fraction of a ns", progtest.Packets("30Mpps", 5000), 5000},
		{"an hour each", progtest.Packets("1pph", 5000), 5000},
		{"bytes", progtest.Bytes("1MB/s", 500000), 5000},
		{"bytes of a fraction of a ns", progtest.Bytes("300Gbit/s", 500099), 5000},
		{"both, packets tighter", progtest.Both(progtest.Packets("1kpps", 4000), progtest.Bytes("1MB/s", 500000)), 4000},
		{"both, bytes tighter", progtest.Both(progtest.Packets("1kpps", 5000), progtest.Bytes("1MB/s", 400099)), 4000},
		{"both alike", progtest.Both(progtest.Packets("1kpps", 5000), progtest.Bytes("1MB/s", 500000)), 5000},
	}
	lab := newRaceLab(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lab.DeleteAll()
			lab.SetDefault(tt.limit)
			race{rounds: 20, burst: tt.burst}.run(t, lab)
		})
	}
}

// Two CPUs that see a source first at the same time make one bucket.
func TestCase07FirstPacketsOfASourceOnTwoCPUs(t *testing.T) {
	lab := newRaceLab(t)
	lab.SetDefault(progtest.Packets("1kpps", 200))
	race{rounds: 300, burst: 200}.run(t, lab)
}

// The million packets of one source that were reported.
func TestCase07AMillionPackets(t *testing.T) {
	const n, burst = 1_000_000, 100_000
	lab := newRaceLab(t)
	lab.SetDefault(progtest.Packets("1kpps", burst))
	before := lab.Counts()
	load := progtest.Load{Frame: udp(alice), N: n}
	lab.Parallel(load, load)
	got := lab.Counts().Since(before)
	if got[underLimit].Packets != burst || got.Packets() != 2*n {
		t.Errorf("%v, want %d passed of %d", got, burst, 2*n)
	}
}

// A bucket that all sources share is one for all CPUs, too.
func TestSharedPolicyOnTwoCPUs(t *testing.T) {
	lab := newRaceLab(t)
	for range 20 {
		lab.DeleteAll()
		lab.SetPolicy(policymap.Policy{Name: "all", Key: policymap.Shared, Limit: progtest.Packets("1kpps", 2000)})
		before := lab.Counts()
		lab.Parallel(progtest.Load{Frame: udp(alice), N: 3000}, progtest.Load{Frame: udp(bob), N: 3000})
		if passed := lab.Counts().Since(before)[underLimit].Packets; passed != 2000 {
			t.Fatalf("%d passed on two CPUs, want 2000", passed)
		}
	}
}

// With several policies a charge may be given back, and then another packet takes its place:
// never one more than the tightest policy says, and in the end not one less.
func TestPoliciesOnTwoCPUs(t *testing.T) {
	tests := []struct {
		name   string
		bursts [3]uint64
		want   int
	}{
		{"first is tightest", [3]uint64{2000, 2001, 2500}, 2000},
		{"second is tightest", [3]uint64{2001, 2000, 2500}, 2000},
		{"last is tightest", [3]uint64{2500, 2001, 2000}, 2000},
		{"all alike", [3]uint64{2000, 2000, 2000}, 2000},
	}
	lab := newRaceLab(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lab := lab.For(t)
			lab.DeleteAll()
			dns := udpPort("dns", 53)
			dns.Limit = progtest.Packets("30Mpps", tt.bursts[0])
			anyUDP := udpPort("udp", 0)
			anyUDP.Ports = policymap.Ports{}
			anyUDP.Limit = progtest.Both(progtest.Packets("1kpps", 9000), progtest.Bytes("1MB/s", 100*tt.bursts[1]))
			lab.SetPolicy(dns, anyUDP)
			lab.SetDefault(progtest.Packets("1kpps", tt.bursts[2]))
			rounds := race{rounds: 15, burst: tt.want}.run(t, lab)

			// Each counted what passed and no more, with what was given back taken off.
			want := packetCount(uint64(rounds * tt.want))
			for _, name := range []string{"dns", "udp", "default"} {
				if got := lab.Counted(name).Pass; got != want {
					t.Errorf("policy %s passed %v, want %v", name, got, want)
				}
				wantPassOfSources(t, lab, lab.PolicyID(name), want)
			}
		})
	}
}

// wantPassOfSources compares the sum of what a policy's sources passed.
func wantPassOfSources(tb testing.TB, lab *progtest.Lab, policyID uint16, want statmap.Counter) {
	tb.Helper()
	var got statmap.Counter
	for key, slot := range sources(tb, lab) {
		if key.PolicyID == policyID {
			got.Add(slot.Pass)
		}
	}
	if got != want {
		tb.Errorf("sources of policy %d passed %v, want %v", policyID, got, want)
	}
}

// One CPU converts a bucket to a new limit, while the other one does not let go of the old.
func TestCase14ChangeOnTwoCPUs(t *testing.T) {
	lab := newRaceLab(t)
	prime := func(lab *progtest.Lab, frame []byte) {
		lab.SetDefault(progtest.Packets("1kpps", 100))
		lab.RunN(frame, 100)
		lab.SetDefault(progtest.Packets("10kpps", 5000))
	}
	// 100 packets at 1 kpps are 100 ms, and 1000 packets at 10 kpps.
	race{rounds: 20, burst: 4000, prime: prime}.run(t, lab)
}

// A source's losses are counted on each CPU and add up.
func TestLossesOnTwoCPUs(t *testing.T) {
	lab := newRaceLab(t)
	lab.SetDefault(progtest.Packets("1pps", 1))
	load := progtest.Load{Frame: udp(alice), N: 10000}
	for range 5 {
		lab.Parallel(load, load)
	}
	key := progtest.SourceKey{Addr: addr(alice), PolicyID: lab.PolicyID("default")}
	want := statmap.Slot{Pass: packetCount(1), Drop: packetCount(100000 - 1)}
	if got := sources(t, lab)[key]; got != want {
		t.Errorf("source: %+v, want %+v", got, want)
	}
	var numbers uint64
	if err := lab.Map(bpf.MapLossNumbers).Lookup(uint32(0), &numbers); err != nil || numbers > 2 {
		t.Errorf("%d numbers were taken for one source, %v; want 1, or 2 where the CPUs were at it at once", numbers, err)
	}
}

// While the clock moves, what is given back may have been earned already. Over the whole time no
// more passes than the burst and what the rate earned, to the packet.
func TestMovingClockOnTwoCPUs(t *testing.T) {
	const burst, n, rounds = 50, 150_000, 10
	lab := newRaceLab(t)
	web := udpPort("dns", 53)
	for range rounds {
		lab.DeleteAll()
		lab.Advance(time.Hour)
		web.Limit = progtest.Packets("1Mpps", burst)
		lab.SetPolicy(web)
		lab.SetDefault(progtest.Both(progtest.Packets("1Mpps", burst), progtest.Bytes("100MB/s", 100*burst)))
		start, before := lab.Clock(), lab.Counts()
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					lab.Advance(100)
				}
			}
		}()
		load := progtest.Load{Frame: udp(alice), N: n}
		lab.Parallel(load, load)
		close(stop)
		<-stopped
		earned := (lab.Clock() - start) / 1000
		if passed := lab.Counts().Since(before)[underLimit].Packets; passed > burst+earned {
			t.Fatalf("%d passed, and %d were due", passed, burst+earned)
		}
	}
}

// Where the bytes run out between looking and charging, the packet is given back. That happens
// in one round of some hundreds.
func TestPacketIsGivenBackOnTwoCPUs(t *testing.T) {
	const burst, rounds = 20, 2000
	lab := newRaceLab(t)
	lab.SetDefault(progtest.Both(progtest.Packets("1pph", burst+1), progtest.Bytes("1MB/s", 100*burst)))
	source := addr("10.0.0.0")
	for range rounds {
		source = source.Next()
		load := progtest.Load{Frame: udp(source.String()), N: 3 * burst}
		before := lab.Counts()
		lab.Parallel(load, load)
		lab.Advance(100 * time.Microsecond) // earns the bytes of one packet, and no packet
		lab.RunN(load.Frame, 3)
		if passed := lab.Counts().Since(before)[underLimit].Packets; passed != burst+1 {
			t.Fatalf("%s: %d passed, want %d", source, passed, burst+1)
		}
	}
}

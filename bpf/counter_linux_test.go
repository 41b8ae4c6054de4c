package bpf_test

import (
	"math"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/progtest"
)

// sourceOf returns what the default policy counted of a source.
func sourceOf(tb testing.TB, lab *progtest.Lab, source string) statmap.Slot {
	tb.Helper()
	lab = lab.For(tb)
	return sources(tb, lab)[progtest.SourceKey{Addr: addr(source), PolicyID: lab.PolicyID("default")}]
}

// Counters go on from any value, also beyond 32 bits.
func TestCountersAreOf64Bits(t *testing.T) {
	const almost = math.MaxUint32 - 50
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1pps", 1))
	var cpus []bpf.Counters
	counters := lab.Map(bpf.MapCounters)
	if err := counters.Lookup(uint32(0), &cpus); err != nil {
		t.Fatal(err)
	}
	for i := range cpus {
		cpus[i].Total[bpf.VerdictPass][bpf.ReasonUnderLimit] = bpf.Counter{Packets: almost, Bytes: almost}
		cpus[i].Policies[0][bpf.VerdictPass] = bpf.Counter{Packets: almost, Bytes: almost}
	}
	if err := counters.Put(uint32(0), cpus); err != nil {
		t.Fatal(err)
	}
	want := statmap.Counter{Packets: uint64(len(cpus))*almost + 1, Bytes: uint64(len(cpus))*almost + 100}

	wantRuns(t, lab, underLimit, udp(alice))
	if got := lab.Counts()[underLimit]; got != want {
		t.Errorf("total %v, want %v", got, want)
	}
	if got := lab.Counted("default").Pass; got != want {
		t.Errorf("policy %v, want %v", got, want)
	}
	if got := sourceOf(t, lab, alice).Pass; got != packetCount(1) {
		t.Errorf("source %v, want one packet", got)
	}
}

// A bucket's own count moves from one word to two when the first is half full; nothing is lost.
func TestPassOfASourceBeyondRecent(t *testing.T) {
	const full = bpf.RecentFull
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("100Mpps", 1<<30))
	for _, step := range []struct{ n, total uint64 }{
		{full - 1, full - 1}, {1, full}, {1, full + 1}, {full, 2*full + 1}, {100_000, 2*full + 100_001},
	} {
		lab.RunN(udp(alice), int(step.n))
		if got := sourceOf(t, lab, alice).Pass; got != packetCount(step.total) {
			t.Errorf("%v passed, want %v", got, packetCount(step.total))
		}
	}
}

func TestPassOfASourceBeyondRecentOnTwoCPUs(t *testing.T) {
	lab := newRaceLab(t)
	lab.SetDefault(progtest.Packets("100Mpps", 1<<30))
	load := progtest.Load{Frame: udp(alice), N: 700_000}
	lab.Parallel(load, load)
	got := sourceOf(t, lab, alice)
	// A packet that ran out of tries is a loss of the source, and there may be some.
	if sum := got.Pass.Packets + got.Drop.Packets; sum != 1_400_000 || got.Drop.Packets > 1000 {
		t.Errorf("%+v, want 1,400,000 packets, next to all of them passed", got)
	}
	if got.Pass.Bytes != 100*got.Pass.Packets {
		t.Errorf("passed %v, want 100 bytes a packet", got.Pass)
	}
}

// The bytes of a source are not cut either: 2^44 fit beside the packets that they come with.
func TestBytesOfASourceBeyondRecent(t *testing.T) {
	need.Root(t)
	const packets, length = bpf.RecentFull + 5, 1500
	lab := progtest.New(t, progtest.Options{})
	lab.SetDefault(progtest.Packets("100Mpps", 1<<30))
	lab.RunN(packet.UDPFrame(alice, dst4, 1, length-28), packets)
	want := statmap.Counter{Packets: packets, Bytes: packets * length}
	if got := sourceOf(t, lab, alice).Pass; got != want {
		t.Errorf("%v passed, want %v", got, want)
	}
}

// A source's losses are its own until 65,536 others have lost something; then they are gone, and
// counted anew. They are never another source's.
func TestLossesAreKeptFor65536Sources(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1pps", 1))
	pinned(lab, udp(alice), 4)
	wantDrops(t, lab, map[string]uint64{alice: 3})

	// As if all others but one had lost.
	setLossNumber(t, lab, bpf.LossSlots-1)
	pinned(lab, udp("192.0.2.1"), 2)
	wantDrops(t, lab, map[string]uint64{alice: 3, "192.0.2.1": 1})

	pinned(lab, udp(bob), 6) // takes the place of alice
	wantDrops(t, lab, map[string]uint64{alice: 0, "192.0.2.1": 1, bob: 5})

	pinned(lab, udp(alice), 2) // and gets a new one
	wantDrops(t, lab, map[string]uint64{alice: 2, "192.0.2.1": 1, bob: 5})
	pinned(lab, udp(bob), 1)
	wantDrops(t, lab, map[string]uint64{alice: 2, "192.0.2.1": 1, bob: 6})
}

func setLossNumber(tb testing.TB, lab *progtest.Lab, number uint64) {
	tb.Helper()
	if err := lab.Map(bpf.MapLossNumbers).Put(uint32(0), number); err != nil {
		tb.Fatal(err)
	}
}

func wantDrops(tb testing.TB, lab *progtest.Lab, want map[string]uint64) {
	tb.Helper()
	for source, n := range want {
		if got := sourceOf(tb, lab, source).Drop; got != packetCount(n) {
			tb.Errorf("%s lost %v, want %v", source, got, packetCount(n))
		}
	}
}

// Each CPU keeps its own entry of a source's losses, under one number.
func TestLossesAreKeptPerCPU(t *testing.T) {
	lab := newRaceLab(t)
	lab.SetDefault(progtest.Packets("1pps", 1))
	pinned(lab, udp(alice), 2) // one number, by one CPU
	load := progtest.Load{Frame: udp(alice), N: 10}
	lab.Parallel(load, load)

	var entries []bpf.Loss
	if err := lab.Map(bpf.MapLosses).Lookup(uint32(1), &entries); err != nil {
		t.Fatal(err)
	}
	drops := map[uint64]int{}
	for _, e := range entries {
		if e.Number != 0 {
			drops[e.Drop.Packets]++
		}
	}
	if len(entries) != ebpf.MustPossibleCPU() || drops[11] != 1 || drops[10] != 1 {
		t.Errorf("entries %+v, want one with 11 drops and one with 10", entries)
	}
}

// All policies may match a packet, and a refusal by the last one takes nothing from the others.
func TestEightPolicies(t *testing.T) {
	lab := newLab(t)
	var policies []policymap.Policy
	for i, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		p := udpPort(name, 0)
		p.Ports = policymap.Ports{First: uint16(i + 1), Last: 60}
		p.Limit = progtest.Packets("1pps", 20)
		policies = append(policies, p)
	}
	last := policymap.Policy{Name: policymap.Default, Limit: progtest.Packets("1pps", 3)}
	lab.SetPolicy(append(policies, last)...)
	wantBurst(t, lab, udp(alice), 3, overPackets)
	for _, p := range policies {
		if got := lab.Counted(p.Name); got != (statmap.Slot{Pass: packetCount(3)}) {
			t.Errorf("policy %s: %+v, want 3 packets passed", p.Name, got)
		}
	}
	if got := lab.Counted("default"); got != (statmap.Slot{Pass: packetCount(3), Drop: packetCount(3)}) {
		t.Errorf("default: %+v, want 3 packets passed and 3 dropped", got)
	}
}

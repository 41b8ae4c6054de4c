package bpf_test

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/progtest"
	"github.com/headgate/headgate/userspace/limit"
)

// sender is one that keeps to a rate, among those that a flood makes up.
type sender struct {
	addr  string
	every time.Duration
	from  time.Duration // after the beginning of the flood; may be before it

	sent, passed int
	ideal        limit.Bucket // that of a limiter that does nothing else
	due          int          // that it lets pass
}

// flood is one packet each from ever new sources, and some senders, by a clock that a test moves.
type flood struct {
	lab     *progtest.Lab
	limit   limit.Limit
	packets int
	every   time.Duration
	senders []*sender

	passed int // of the made up sources
	number int // of the last of them
}

// run sends all in the order of time.
func (f *flood) run() {
	begin := f.lab.Clock() + uint64(2*time.Second)
	at := func(d time.Duration) uint64 { return begin + uint64(d) }
	end := time.Duration(f.packets) * f.every
	next := make([]time.Duration, len(f.senders))
	for i, s := range f.senders {
		s.ideal, next[i] = f.limit.Fresh(at(s.from)), s.from
	}
	var steps []progtest.Step
	var from []*sender // nil for a made up one
	flush := func() {
		for i, action := range f.lab.Steps(steps...) {
			f.count(from[i], action == progtest.Pass)
		}
		steps, from = steps[:0], from[:0]
	}
	for now, n := -time.Second, 0; n < f.packets; now += f.every {
		for i, s := range f.senders {
			for ; next[i] <= now && next[i] < end; next[i] += s.every {
				steps, from = append(steps, progtest.Step{At: at(next[i]), Frame: udp(s.addr)}), append(from, s)
				if f.limit.Take(&s.ideal, 100, at(next[i])) == limit.None {
					s.due++
				}
			}
		}
		if now >= 0 {
			steps, from = append(steps, progtest.Step{At: at(now), Frame: f.madeUp()}), append(from, nil)
			n++
		}
		if len(steps) >= 4096 {
			flush()
		}
	}
	flush()
}

func (f *flood) count(s *sender, passed bool) {
	switch {
	case s == nil && passed:
		f.passed++
	case s == nil:
	case passed:
		s.passed++
		fallthrough
	default:
		s.sent++
	}
}

// madeUp returns a frame from a source that there was not before.
func (f *flood) madeUp() []byte {
	const sourceAt = 14 + 12
	frame := udp("100.0.0.0")
	f.number++
	binary.BigEndian.PutUint32(frame[sourceAt:], uint32(100<<24+f.number))
	return frame
}

// floodLab returns a lab as an instance with so many buckets has it.
func floodLab(t *testing.T, buckets int, lines uint64, l wire.Limit) *progtest.Lab {
	t.Helper()
	need.Root(t)
	credits := heatmap.Settings{Memory: lines * 64, Buckets: uint32(buckets), CPUs: 1}.Credits()
	lab := progtest.New(t, progtest.Options{Sources: buckets, Heat: progtest.Heat{Lines: lines, Credits: &credits}})
	lab.SetDefault(l)
	return lab
}

// newFlood returns a flood with a source at half its limit and one at ten times its limit, each once
// before the flood begins and once in the middle of it.
func newFlood(t *testing.T, lab *progtest.Lab, l wire.Limit, packets int, every time.Duration) *flood {
	t.Helper()
	compiled, err := l.Compile()
	if err != nil {
		t.Fatal(err)
	}
	cost := time.Duration(compiled.Packets.Cost >> compiled.Packets.Shift)
	middle := time.Duration(packets) * every / 3
	return &flood{lab: lab, limit: compiled, packets: packets, every: every, senders: []*sender{
		{addr: "192.0.2.1", every: 2 * cost, from: -time.Second},
		{addr: "192.0.2.2", every: 2 * cost, from: middle},
		{addr: "192.0.2.3", every: cost / 10, from: -time.Second},
		{addr: "192.0.2.4", every: cost / 10, from: middle},
	}}
}

// A flood of ten times as many sources as there are buckets takes nothing from who keeps to half his
// limit, gives nothing to who does not keep to it, and finds no more room than there is.
func TestSpoofedFlood(t *testing.T) {
	tests := []struct {
		name    string
		limit   wire.Limit
		buckets int
		lines   uint64
		packets int
		every   time.Duration
	}{
		{"by the tick", progtest.Packets("1kpps", 1000), 4096, 4096, 100_000, 10 * time.Microsecond},
		{"by the exact clock", progtest.Packets("1kpps", 100), 4096, 4096, 100_000, 10 * time.Microsecond},
		{"640k sources, 1 Mpps", progtest.Packets("1kpps", 1000), 65536, 16384, 655_360, time.Microsecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lab := floodLab(t, tt.buckets, tt.lines, tt.limit)
			f := newFlood(t, lab, tt.limit, tt.packets, tt.every)
			memory := mapMemory(t, lab)
			f.run()
			if f.passed != f.packets {
				t.Errorf("of %d packets of made up sources %d passed: each is far below its limit", f.packets, f.passed)
			}
			f.check(t, 9)
			wantBuckets(t, lab, tt.buckets)
			if after := mapMemory(t, lab); after != memory {
				t.Errorf("the maps took %d bytes before the flood, and %d after it", memory, after)
			}
			wantTiersAddUp(t, lab, f)
		})
	}
}

// check compares what passed of each sender with what is due: of the last one, whose debt is handed over
// by a clock that may be late, up to so many packets less.
func (f *flood) check(t *testing.T, late int) {
	t.Helper()
	for _, s := range f.senders {
		t.Logf("%s: sent %d, passed %d of %d", s.addr, s.sent, s.passed, s.due)
		if s.passed > s.due {
			t.Errorf("%s: %d of %d packets passed, and its limit allows %d", s.addr, s.passed, s.sent, s.due)
		}
		if s.passed < s.due-late || s.due == s.sent && s.passed < s.sent {
			t.Errorf("%s: only %d of %d packets passed, and its limit allows %d", s.addr, s.passed, s.sent, s.due)
		}
	}
}

// mapMemory returns what the maps that know sources take.
func mapMemory(t *testing.T, lab *progtest.Lab) (sum uint64) {
	t.Helper()
	for _, name := range []string{bpf.MapBuckets, bpf.MapHeat, bpf.MapLosses} {
		info, err := lab.Map(name).Info()
		if err != nil {
			t.Fatal(err)
		}
		memory, ok := info.Memlock()
		if !ok {
			t.Fatalf("the kernel does not say how large map %s is", name)
		}
		sum += memory
	}
	return sum
}

func wantBuckets(t *testing.T, lab *progtest.Lab, most int) {
	t.Helper()
	if n, err := lab.Buckets.Count(); err != nil || n > most {
		t.Errorf("%d buckets, %v; want at most %d", n, err, most)
	}
}

// wantTiersAddUp checks that each packet is counted in one place: as cold, as passed or dropped by a
// bucket, or as untracked; and that each bucket that there is was an insert.
func wantTiersAddUp(t *testing.T, lab *progtest.Lab, f *flood) {
	t.Helper()
	counts, tiers := lab.Counts(), lab.Tiers()
	t.Logf("%v, %+v", counts, tiers)
	var all statmap.Slot
	byBucket := sources(t, lab)
	for _, slot := range byBucket {
		all.Pass.Add(slot.Pass)
		all.Drop.Add(slot.Drop)
	}
	sent := f.packets
	for _, s := range f.senders {
		sent += s.sent
	}
	if got := counts.Packets(); got != uint64(sent) {
		t.Errorf("%d packets are counted as %d", sent, got)
	}
	if got := tiers.Cold + all.Pass.Packets; got != counts[underLimit].Packets {
		t.Errorf("%d packets were under their limit, %d of them cold and %d by a bucket", counts[underLimit].Packets, tiers.Cold, all.Pass.Packets)
	}
	if all.Drop != counts[overPackets] {
		t.Errorf("%v were over their limit, %v of them by a bucket", counts[overPackets], all.Drop)
	}
	if got := counts[untrackedPass].Packets + counts[untrackedDrop].Packets; got != tiers.Deferred {
		t.Errorf("%d packets were untracked, and %d buckets not made", got, tiers.Deferred)
	}
	if tiers.Inserts != uint64(len(byBucket)) {
		t.Errorf("%d buckets were made, and there are %d", tiers.Inserts, len(byBucket))
	}
}

// Where the table is far too small for a flood all strangers look alike. Who had a bucket before keeps
// it, and what he may send; of the others who need a bucket and get none, each packet is counted.
func TestFloodBeyondTheTable(t *testing.T) {
	const lines, buckets = 256, 65536
	l := progtest.Packets("1kpps", 1000)
	lab := floodLab(t, buckets, lines, l)
	f := newFlood(t, lab, l, 500_000, 500*time.Nanosecond)
	f.senders = f.senders[:3] // the last one gets no bucket, and is estimated
	f.run()
	f.check(t, 0)
	wantBuckets(t, lab, buckets)
	wantTiersAddUp(t, lab, f)
	if lab.Tiers().Deferred == 0 {
		t.Error("there was credit for all: this run proves nothing")
	}
}

// A source that two CPUs see as cold at the same time becomes exact without losing a charge: the whole
// burst passes, and not one packet more.
func TestColdOnTwoCPUs(t *testing.T) {
	need.Root(t)
	need.CPUs(t, 2)
	lab := progtest.New(t, progtest.Options{Heat: progtest.Heat{Credits: &hotCredits}})
	lab.SetDefault(progtest.Packets("1kpps", 200))
	rounds := race{rounds: 300, burst: 200}.run(t, lab)
	if cold := lab.Tiers().Cold; cold < uint64(rounds)*90 {
		t.Errorf("%d packets were cold in %d rounds: this run proves nothing", cold, rounds)
	}
}

// With the coarse clock some packets fewer pass, as it may be late by two ticks.
func TestColdByTheTickOnTwoCPUs(t *testing.T) {
	const burst, late = 1000, 8
	need.Root(t)
	need.CPUs(t, 2)
	lab := progtest.New(t, progtest.Options{Heat: progtest.Heat{Credits: &hotCredits}})
	lab.SetDefault(progtest.Packets("1kpps", burst))
	source := netip.MustParseAddr("10.0.0.0")
	for range 100 {
		source = source.Next()
		before := lab.Counts()
		load := progtest.Load{Frame: udp(source.String()), N: 2 * burst}
		lab.Parallel(load, load)
		if passed := lab.Counts().Since(before)[underLimit].Packets; passed > burst || passed < burst-late {
			t.Fatalf("%s: %d passed on two CPUs, want %d to %d", source, passed, burst-late, burst)
		}
	}
}

// What several policies took of a cold source and one then refused is given back to its cells, and never
// more than that.
func TestPoliciesOfColdSourcesOnTwoCPUs(t *testing.T) {
	const burst = 200
	need.Root(t)
	need.CPUs(t, 2)
	lab := progtest.New(t, progtest.Options{Heat: progtest.Heat{Credits: &hotCredits}})
	dns := udpPort("dns", 53)
	dns.Limit = progtest.Packets("1kpps", 2*burst)
	lab.SetPolicy(dns, policymap.Policy{Name: policymap.Default, Limit: progtest.Packets("1kpps", burst)})
	race{rounds: 100, burst: burst}.run(t, lab)
}

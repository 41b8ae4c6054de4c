package bpf_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/eventmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/progtest"
)

const interval = 10 * time.Millisecond

// newEventLab returns a lab that drops everything.
func newEventLab(tb testing.TB, o progtest.Options, every time.Duration) *progtest.Lab {
	tb.Helper()
	need.Root(tb)
	lab := progtest.New(tb, o)
	lab.Configure(func(c *policymap.Config) { c.EventInterval = every })
	lab.SetRules(progtest.Block("0.0.0.0/0"), progtest.Block("::/0"))
	return lab
}

// A CPU sends one event in an interval, and says in the next one what it kept quiet about.
func TestOneEventAnInterval(t *testing.T) {
	lab := newEventLab(t, progtest.Options{}, interval)
	steps := []struct {
		advance time.Duration
		drops   int
		want    []uint64 // Suppressed of the events
	}{
		{0, 1, []uint64{0}},
		{0, 1000, nil},
		{interval - 1, 10, nil},
		{1, 500, []uint64{1010}},
		{interval, 1, []uint64{499}},
		{time.Hour, 1, []uint64{0}},
	}
	for i, step := range steps {
		lab.Advance(step.advance)
		pinned(lab, udp(alice), step.drops)
		var got []uint64
		for _, e := range lab.Events() {
			got = append(got, e.Suppressed)
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("step %d: events with %v suppressed, want %v", i, got, step.want)
		}
	}
}

// What is not an event is in Suppressed of the next one, or still to come: nothing is lost.
func TestEventsAndSuppressedAddUp(t *testing.T) {
	lab := newEventLab(t, progtest.Options{}, interval)
	need.CPUs(t, 2)
	told := uint64(0)
	for round := range 10 {
		load := progtest.Load{Frame: udp(alice), N: 100 + 17*round}
		lab.Parallel(load, load)
		events := lab.Events()
		if len(events) != 2 {
			t.Errorf("round %d: %d events, want one of each CPU", round, len(events))
		}
		for _, e := range events {
			told += 1 + e.Suppressed
		}
		lab.Advance(interval)
	}
	if dropped := lab.Counts()[blocked].Packets; told+suppressed(t, lab) != dropped {
		t.Errorf("%d told and %d suppressed, of %d drops", told, suppressed(t, lab), dropped)
	}
}

func suppressed(tb testing.TB, lab *progtest.Lab) uint64 {
	tb.Helper()
	stats, err := statmap.Read(lab.Map(bpf.MapCounters))
	if err != nil {
		tb.Fatal(err)
	}
	return stats.Suppressed
}

// Where nobody reads the ring, drops are suppressed and told of later.
func TestFullEventRing(t *testing.T) {
	const drops = 500
	lab := newEventLab(t, progtest.Options{EventBytes: os.Getpagesize()}, 0)
	pinned(lab, udp(alice), drops)
	lost := suppressed(t, lab)
	got := uint64(len(lab.Events()))
	if got == 0 || lost == 0 || got+lost != drops {
		t.Errorf("%d events and %d suppressed, want %d in all and some of each", got, lost, drops)
	}
	pinned(lab, udp(alice), 1)
	if events := lab.Events(); len(events) != 1 || events[0].Suppressed != lost {
		t.Errorf("events %+v, want one with %d suppressed", events, lost)
	}
	if left := suppressed(t, lab); left != 0 {
		t.Errorf("%d are suppressed still, want 0", left)
	}
}

// An event has the whole address, whatever prefix is the source.
func TestEventContents(t *testing.T) {
	lab := newEventLab(t, progtest.Options{}, 0)
	lab.SetRules(progtest.Allow("203.0.113.0/24"))
	lab.SetDefault(progtest.Packets("1pps", 1))
	if _, err := lab.Rules.Unset(prefixes("203.0.113.0/24", "0.0.0.0/0")); err != nil {
		t.Fatal(err)
	}
	dry := dryRun("dry", 1)
	lab.SetPolicy(dry)
	wantRuns(t, lab, underLimit, udp(alice), udp("192.0.2.9"))
	lab.SetDefault(progtest.Packets("1pps", 2))

	event := func(source string, verdict bpf.Verdict, reason bpf.Reason) eventmap.Event {
		e := eventmap.Event{Time: lab.Clock(), Verdict: verdict, Reason: reason}
		if source != "" {
			e.Source, e.Proto, e.SourcePort, e.DestPort, e.Length = addr(source), 17, 40000, 53, 100
		}
		return e
	}
	under := func(e eventmap.Event, policy string) eventmap.Event {
		e.PolicyID = lab.PolicyID(policy)
		return e
	}
	tests := []struct {
		name  string
		frame []byte
		want  eventmap.Event
	}{
		{"blocked", udp("2001:db8:1:2:3:4:5:6"), event("2001:db8:1:2:3:4:5:6", bpf.VerdictDrop, bpf.ReasonBlocked)},
		{"dry run", udp(alice), under(event(alice, bpf.VerdictWouldDrop, bpf.ReasonOverPacketLimit), "dry")},
		{"over the limit", udp(alice), under(event(alice, bpf.VerdictDrop, bpf.ReasonOverPacketLimit), "default")},
		{"malformed", udp(alice)[:20], eventmap.Event{Time: lab.Clock(), Verdict: bpf.VerdictDrop, Reason: bpf.ReasonMalformed, Length: 6}},
		{"no ports", packet.Build(packet.Ethernet{}, packet.IPv6{}, packet.ICMPv6{Type: 128}),
			eventmap.Event{Time: lab.Clock(), Source: addr("2001:db8::1"), Proto: 58, Length: 48, Verdict: bpf.VerdictDrop, Reason: bpf.ReasonBlocked}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lab := lab.For(t)
			lab.Run(tt.frame)
			// Ifindex is that of whatever interface a test run is said to come from.
			got := lab.Events()
			for i := range got {
				got[i].Ifindex = 0
			}
			if diff := cmp.Diff([]eventmap.Event{tt.want}, got, cmp.Comparer(sameAddr)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

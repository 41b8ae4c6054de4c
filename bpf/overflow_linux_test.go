package bpf_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/progtest"
	"github.com/headgate/headgate/userspace/limit/heat"
)

// fullLab returns a lab whose bucket map is full with alice's and bob's buckets.
func fullLab(tb testing.TB, overflow policymap.Overflow, burst uint64) *progtest.Lab {
	tb.Helper()
	need.Root(tb)
	lab := progtest.New(tb, progtest.Options{Sources: 2, Fixed: true, LongKeys: true})
	lab.SetPolicy(policymap.Policy{Name: policymap.Default, Limit: progtest.Packets("1pps", burst), Overflow: overflow})
	pinned(lab, udp(alice), 1)
	pinned(lab, udp(bob), 1)
	return lab
}

// pinned runs a frame n times on the first CPU, so that what is kept per CPU is in one place.
func pinned(lab *progtest.Lab, frame []byte, n int) progtest.Counts {
	return lab.Parallel(progtest.Load{Frame: frame, N: n})[0]
}

// What becomes of a source that needs a bucket and gets none is chosen, and counted for each packet. Up
// to half a burst none of them needs one.
func TestCase10SourceThatCannotBeTracked(t *testing.T) {
	tests := []struct {
		overflow policymap.Overflow
		want     []progtest.Outcome // of six packets of a stranger, at a burst of 4
	}{
		{policymap.OverflowPass, []progtest.Outcome{underLimit, underLimit, untrackedPass, untrackedPass, untrackedPass, untrackedPass}},
		{policymap.OverflowDrop, []progtest.Outcome{underLimit, underLimit, untrackedDrop, untrackedDrop, untrackedDrop, untrackedDrop}},
		{policymap.OverflowEstimate, []progtest.Outcome{underLimit, underLimit, untrackedPass, untrackedPass, untrackedDrop, untrackedDrop}},
	}
	for _, tt := range tests {
		t.Run(tt.overflow.String(), func(t *testing.T) {
			lab := fullLab(t, tt.overflow, 4)
			// Each has a cell of his own, so that what one does is nothing to the others.
			for _, stranger := range []string{"192.0.2.1", "192.0.2.2", "2001:db8::1"} {
				for _, want := range tt.want {
					wantRuns(t, lab, want, udp(stranger))
				}
			}
			// Those who are tracked do not notice.
			wantRuns(t, lab, underLimit, udp(alice), udp(alice), udp(alice))
			wantRuns(t, lab, overPackets, udp(alice))
			wantSources(t, lab, alice, bob)
		})
	}
}

// An estimate is by the source's own limit, and refills as that does.
func TestCase10EstimateRefills(t *testing.T) {
	lab := fullLab(t, policymap.OverflowEstimate, 2)
	stranger := udp("192.0.2.1")
	wantRuns(t, lab, underLimit, stranger)
	wantRuns(t, lab, untrackedPass, stranger)
	wantRuns(t, lab, untrackedDrop, stranger)
	lab.Advance(time.Second)
	wantRuns(t, lab, untrackedPass, stranger)
	wantRuns(t, lab, untrackedDrop, stranger)
	lab.Advance(2 * time.Second)
	wantRuns(t, lab, underLimit, stranger)
	want := statmap.Slot{Pass: packetCount(6), Drop: packetCount(2)}
	wantSlots(t, lab, map[string]statmap.Slot{"default": want})
}

// An estimate too is by the limit that a rule sets.
func TestCase10LimitRuleOfAnUntrackedSource(t *testing.T) {
	lab := fullLab(t, policymap.OverflowEstimate, 4)
	lab.SetRules(progtest.Limit("192.0.2.1/32", lab.PolicyID("default"), progtest.Packets("1pps", 2)))
	wantRuns(t, lab, underLimit, udp("192.0.2.1"), udp("192.0.2.2"), udp("192.0.2.2"))
	wantRuns(t, lab, untrackedPass, udp("192.0.2.1"), udp("192.0.2.2"), udp("192.0.2.2"))
	wantRuns(t, lab, untrackedDrop, udp("192.0.2.1"), udp("192.0.2.2"))
}

// A source whose limit is too long for cells has no estimate either.
func TestCase10LimitWithoutCells(t *testing.T) {
	for overflow, want := range map[policymap.Overflow]progtest.Outcome{
		policymap.OverflowEstimate: untrackedPass, policymap.OverflowPass: untrackedPass, policymap.OverflowDrop: untrackedDrop,
	} {
		lab := fullLab(t, overflow, 3)
		lab.SetRules(progtest.Limit("192.0.2.1/32", lab.PolicyID("default"), progtest.Packets("1pph", 100)))
		wantRuns(t, lab, want, udp("192.0.2.1"), udp("192.0.2.1"))
	}
}

// Where nothing is limited nothing is dropped for lack of a bucket.
func TestCase10NoLimit(t *testing.T) {
	lab := fullLab(t, policymap.OverflowDrop, 3)
	lab.Configure(func(c *policymap.Config) { c.Policies[0].Limit = wire.Limit{} })
	evict(t, lab, alice)
	evict(t, lab, bob)
	wantRuns(t, lab, underLimit, udp("192.0.2.1"), udp("192.0.2.2"))
	// Alice's cell says that she has a bucket, and there is no room for one.
	wantRuns(t, lab, untrackedPass, udp(alice))
}

// In dry run an untracked source is no reason to drop.
func TestCase10DryRun(t *testing.T) {
	lab := fullLab(t, policymap.OverflowDrop, 3)
	lab.Configure(func(c *policymap.Config) { c.DryRun = true })
	want := progtest.Outcome{Verdict: bpf.VerdictWouldDrop, Reason: bpf.ReasonUntracked}
	wantRuns(t, lab, underLimit, udp("192.0.2.1"))
	wantRuns(t, lab, want, udp("192.0.2.1"))
}

// After a failed insert a CPU waits before it tries again. What was not inserted is counted.
func TestCase10InsertsBackOff(t *testing.T) {
	lab := fullLab(t, policymap.OverflowPass, 8)
	stranger := udp("192.0.2.1")
	wantCounts(t, pinned(lab, stranger, 5), counts(100, map[progtest.Outcome]int{underLimit: 4, untrackedPass: 1}))
	evict(t, lab, alice)
	lab.Advance(100*time.Millisecond - 1)
	wantCounts(t, pinned(lab, stranger, 1), counts(100, map[progtest.Outcome]int{untrackedPass: 1}))
	if got, want := lab.Tiers(), (heat.Counts{Cold: 4, Inserts: 2, Deferred: 3}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	lab.Advance(1)
	// The four of the cell are handed over, and some ticks for that its clock may be late.
	wantCounts(t, pinned(lab, stranger, 5), counts(100, map[progtest.Outcome]int{underLimit: 4, overPackets: 1}))
	wantSources(t, lab, bob, "192.0.2.1")
}

func evict(tb testing.TB, lab *progtest.Lab, source string) {
	tb.Helper()
	if !lab.Evict(progtest.SourceKey{Addr: addr(source), PolicyID: lab.PolicyID("default")}) {
		tb.Errorf("%s had no bucket", source)
	}
}

// A map that is too small forgets sources before they have paid. What it never does is to refuse
// one that is new, or to leave a packet undecided. The loader makes maps larger than this.
func TestCase12TinyMapForgets(t *testing.T) {
	const sources, rounds = 64, 50
	need.Root(t)
	lab := progtest.New(t, progtest.Options{Sources: sources})
	lab.SetDefault(progtest.Packets("1pps", 1))
	var frames [][]byte
	for i := range sources {
		frames = append(frames, udp(fmt.Sprintf("10.0.0.%d", i)))
	}
	wantCounts(t, lab.RunAll(frames...), counts(100, map[progtest.Outcome]int{underLimit: sources}))
	before := lab.Counts()
	for range rounds {
		lab.RunAll(frames...)
	}
	got := lab.Counts().Since(before)
	if decided := got[underLimit].Packets + got[overPackets].Packets; decided != sources*rounds {
		t.Errorf("%d packets decided by a bucket, want %d: %v", decided, sources*rounds, got)
	}
	if n, err := lab.Buckets.Count(); err != nil || n > sources {
		t.Errorf("%d buckets, %v; want at most %d", n, err, sources)
	}
}

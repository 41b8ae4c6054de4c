package bpf_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/progtest"
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

// What becomes of a source that nothing can be kept of is chosen, and counted for each packet.
func TestCase10SourceThatCannotBeTracked(t *testing.T) {
	strangers := []string{"192.0.2.1", "192.0.2.2", "2001:db8::1"}
	tests := []struct {
		overflow policymap.Overflow
		want     []progtest.Outcome // of five packets of strangers, at a burst of 3
	}{
		{policymap.OverflowPass, []progtest.Outcome{untrackedPass, untrackedPass, untrackedPass, untrackedPass, untrackedPass}},
		{policymap.OverflowDrop, []progtest.Outcome{untrackedDrop, untrackedDrop, untrackedDrop, untrackedDrop, untrackedDrop}},
		{policymap.OverflowEstimate, []progtest.Outcome{untrackedPass, untrackedPass, untrackedPass, untrackedDrop, untrackedDrop}},
	}
	for _, tt := range tests {
		t.Run(tt.overflow.String(), func(t *testing.T) {
			lab := fullLab(t, tt.overflow, 3)
			for i, want := range tt.want {
				wantRuns(t, lab, want, udp(strangers[i%len(strangers)]))
			}
			// Those who are tracked do not notice.
			wantRuns(t, lab, underLimit, udp(alice), udp(alice))
			wantRuns(t, lab, overPackets, udp(alice))
			wantSources(t, lab, alice, bob)
		})
	}
}

// The bucket for all that cannot be tracked is one of the policy, and refills.
func TestCase10SharedOverflowRefills(t *testing.T) {
	lab := fullLab(t, policymap.OverflowEstimate, 2)
	wantRuns(t, lab, untrackedPass, udp("192.0.2.1"), udp("192.0.2.2"))
	wantRuns(t, lab, untrackedDrop, udp("192.0.2.1"))
	lab.Advance(time.Second)
	wantRuns(t, lab, untrackedPass, udp("192.0.2.3"))
	wantRuns(t, lab, untrackedDrop, udp("192.0.2.1"))
	want := statmap.Slot{Pass: packetCount(5), Drop: packetCount(2)}
	wantSlots(t, lab, map[string]statmap.Slot{"default": want})
}

// A rule's limit does not touch the bucket that all others without one share.
func TestCase10LimitRuleOfAnUntrackedSource(t *testing.T) {
	lab := fullLab(t, policymap.OverflowEstimate, 3)
	lab.SetRules(progtest.Limit("192.0.2.1/32", lab.PolicyID("default"), progtest.Packets("1pps", 1)))
	wantRuns(t, lab, untrackedPass, udp("192.0.2.2"), udp("192.0.2.1"), udp("192.0.2.2"))
	wantRuns(t, lab, untrackedDrop, udp("192.0.2.1"), udp("192.0.2.2"))
}

// In dry run an untracked source is no reason to drop.
func TestCase10DryRun(t *testing.T) {
	lab := fullLab(t, policymap.OverflowDrop, 3)
	lab.Configure(func(c *policymap.Config) { c.DryRun = true })
	want := progtest.Outcome{Verdict: bpf.VerdictWouldDrop, Reason: bpf.ReasonUntracked}
	wantRuns(t, lab, want, udp("192.0.2.1"))
}

// After a failed insert a CPU waits before it tries again.
func TestCase10InsertsBackOff(t *testing.T) {
	lab := fullLab(t, policymap.OverflowPass, 3)
	stranger := udp("192.0.2.1")
	wantCounts(t, pinned(lab, stranger, 1), counts(100, map[progtest.Outcome]int{untrackedPass: 1}))
	key := bpf.BucketKey{Policy: uint32(bpf.FamilyIPv4)<<bpf.PolicyIDBits | uint32(lab.PolicyID("default"))}
	key.Addr[0] = wireAddr(alice)
	if err := lab.Map(bpf.MapBuckets).Delete(&key); err != nil {
		t.Fatal(err)
	}
	lab.Advance(100*time.Millisecond - 1)
	wantCounts(t, pinned(lab, stranger, 1), counts(100, map[progtest.Outcome]int{untrackedPass: 1}))
	lab.Advance(1)
	wantCounts(t, pinned(lab, stranger, 4), counts(100, map[progtest.Outcome]int{underLimit: 3, overPackets: 1}))
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

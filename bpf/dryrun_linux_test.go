package bpf_test

import (
	"testing"

	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/test/progtest"
)

func dryRun(name string, burst uint64) policymap.Policy {
	return policymap.Policy{Name: name, DryRun: true, Limit: progtest.Packets("1pps", burst)}
}

// What a dry run sees it never keeps out, and it sees only what the enforced policies let pass.
func TestDryRunBesideEnforced(t *testing.T) {
	lab := newLab(t)
	lab.SetPolicy(dryRun("dry", 2))
	lab.SetDefault(progtest.Packets("1pps", 4))

	wantRuns(t, lab, underLimit, udp(alice), udp(alice))
	wantRuns(t, lab, wouldOverPackets, udp(alice), udp(alice))
	wantRuns(t, lab, overPackets, udp(alice), udp(alice), udp(alice))

	wantSlots(t, lab, map[string]statmap.Slot{
		"dry":     {Pass: packetCount(4), WouldDrop: packetCount(2)},
		"default": {Pass: packetCount(4), Drop: packetCount(3)},
	})
}

// The first of several gives the reason, and each counts for itself.
func TestSeveralDryRuns(t *testing.T) {
	lab := newLab(t)
	one := dryRun("one", 1)
	one.HasProto, one.Proto = true, 17
	lab.SetPolicy(dryRun("two", 2), one)
	wantRuns(t, lab, underLimit, udp(alice))
	wantRuns(t, lab, wouldOverPackets, udp(alice), udp(alice))
	wantSlots(t, lab, map[string]statmap.Slot{
		"two": {Pass: packetCount(3), WouldDrop: packetCount(1)},
		"one": {Pass: packetCount(3), WouldDrop: packetCount(2)},
	})
}

// Dry run as a whole: everything is decided and counted, nothing is dropped.
func TestGlobalDryRun(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1pps", 1))
	lab.SetPolicy(dryRun("dry", 1))
	lab.SetRules(progtest.Block("192.0.2.0/24"))
	lab.Configure(func(c *policymap.Config) { c.DryRun = true })

	would := func(o progtest.Outcome) progtest.Outcome {
		o.Verdict = wouldOverPackets.Verdict
		return o
	}
	wantRuns(t, lab, underLimit, udp(alice))
	wantRuns(t, lab, wouldOverPackets, udp(alice), udp(alice))
	wantRuns(t, lab, would(blocked), udp("192.0.2.7"))
	wantRuns(t, lab, would(malformed), udp(alice)[:20])
	wantSlots(t, lab, map[string]statmap.Slot{
		"default": {Pass: packetCount(3), WouldDrop: packetCount(2)},
		"dry":     {Pass: packetCount(1)}, // the others were refused before
	})
	key := progtest.SourceKey{Addr: addr(alice), PolicyID: lab.PolicyID("default")}
	want := statmap.Slot{Pass: packetCount(3), WouldDrop: packetCount(2)}
	if got := sources(t, lab)[key]; got != want {
		t.Errorf("source: %+v, want %+v", got, want)
	}

	lab.Configure(func(c *policymap.Config) { c.DryRun = false })
	wantRuns(t, lab, overPackets, udp(alice))
	wantRuns(t, lab, blocked, udp("192.0.2.7"))
	wantRuns(t, lab, malformed, udp(alice)[:20])
}

func wantSlots(tb testing.TB, lab *progtest.Lab, want map[string]statmap.Slot) {
	tb.Helper()
	for name, slot := range want {
		if got := lab.Counted(name); got != slot {
			tb.Errorf("policy %s: %+v, want %+v", name, got, slot)
		}
	}
}

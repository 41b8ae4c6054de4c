package statmap_test

import (
	"testing"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/progtest"
)

// counters has another number in each place, so that no two can be mistaken.
func counters() bpf.Counters {
	var c bpf.Counters
	n := uint64(1)
	next := func() bpf.Counter { n++; return bpf.Counter{Packets: n, Bytes: 1000 * n} }
	for verdict := range c.Total {
		for reason := range c.Total[verdict] {
			c.Total[verdict][reason] = next()
		}
	}
	for slot := range c.Policies {
		for verdict := range c.Policies[slot] {
			c.Policies[slot][verdict] = next()
		}
	}
	c.Suppressed, c.Cold, c.Inserts, c.Deferred = 7, 11, 13, 17
	return c
}

func times(n uint64, packets uint64) statmap.Counter {
	return statmap.Counter{Packets: n * packets, Bytes: 1000 * n * packets}
}

// All CPUs are added up, and each counter is found in its place.
func TestReadSumsAllCPUs(t *testing.T) {
	need.Root(t)
	lab := progtest.New(t, progtest.Options{})
	cpus := make([]bpf.Counters, ebpf.MustPossibleCPU())
	for i := range cpus {
		cpus[i] = counters()
	}
	m := lab.Map(bpf.MapCounters)
	if err := m.Put(uint32(0), cpus); err != nil {
		t.Fatal(err)
	}
	stats, err := statmap.Read(m)
	if err != nil {
		t.Fatal(err)
	}

	n, reasons := uint64(len(cpus)), uint64(bpf.ReasonLen)
	// The verdicts have the numbers from 2 on, each as many as there are reasons.
	verdict := func(v uint64) statmap.Counter { return times(n, reasons*(2+v*reasons)+reasons*(reasons-1)/2) }
	pass := verdict(0)
	pass.Add(verdict(2))
	for name, c := range map[string][2]statmap.Counter{
		"pass":       {stats.Pass(), pass},
		"drop":       {stats.Drop(), verdict(1)},
		"would drop": {stats.WouldDrop(), verdict(2)},
		"blocked":    {stats.Reason(bpf.ReasonBlocked), times(n, 3*(2+uint64(bpf.ReasonBlocked)+reasons))},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %v, want %v", name, c[0], c[1])
		}
	}
	others := [...]uint64{stats.Suppressed, stats.Cold, stats.Inserts, stats.Deferred}
	if want := [...]uint64{7 * n, 11 * n, 13 * n, 17 * n}; others != want {
		t.Errorf("suppressed, cold, inserts and deferred are %d, want %d", others, want)
	}
	first := 2 + 3*reasons + 3*2 // the first counter of slot 2
	var base [bpf.VerdictLen]bpf.Counter
	base[bpf.VerdictDrop] = bpf.Counter{Packets: 1, Bytes: 1000}
	want := statmap.Slot{Pass: times(n, 2*first+2), Drop: times(1, n*(first+1)-1), WouldDrop: times(n, first+2)}
	if got := stats.Policy(2, base); got != want {
		t.Errorf("slot 2: %+v, want %+v", got, want)
	}
	if got := stats.Slots()[2][bpf.VerdictPass].Packets; got != n*first {
		t.Errorf("slot 2 passed %d, want %d", got, n*first)
	}
}

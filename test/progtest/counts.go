//go:build linux

package progtest

import (
	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/statmap"
)

// Outcome is what became of a packet, and why.
type Outcome struct {
	Verdict bpf.Verdict
	Reason  bpf.Reason
}

// String returns both names, such as "drop/over_packet_limit".
func (o Outcome) String() string {
	return statmap.VerdictName(o.Verdict) + "/" + statmap.ReasonName(o.Reason)
}

// Counts is how many packets and bytes had each outcome. Outcomes that never were are not in it.
type Counts map[Outcome]statmap.Counter

// Counts returns what all CPUs counted since the program was loaded.
func (l *Lab) Counts() Counts {
	l.tb.Helper()
	all := make(Counts)
	for _, cpu := range l.cpuCounts() {
		for outcome, c := range cpu {
			sum := all[outcome]
			sum.Add(c)
			all[outcome] = sum
		}
	}
	return all
}

// Since returns what was counted after before. Counters never go back.
func (c Counts) Since(before Counts) Counts {
	since := make(Counts)
	for outcome := range c {
		if more := c[outcome].Sub(before[outcome]); more != (statmap.Counter{}) {
			since[outcome] = more
		}
	}
	return since
}

// Packets returns how many packets were counted, whatever became of them.
func (c Counts) Packets() uint64 {
	var n uint64
	for _, counter := range c {
		n += counter.Packets
	}
	return n
}

// cpuCounts returns the counts of each CPU, by its number.
func (l *Lab) cpuCounts() []Counts {
	l.tb.Helper()
	raw := l.cpus()
	cpus := make([]Counts, len(raw))
	for i := range raw {
		cpus[i] = countsOf(&raw[i])
	}
	return cpus
}

// cpus returns what the program keeps of each CPU, by its number.
func (l *Lab) cpus() (raw []bpf.Counters) {
	l.tb.Helper()
	l.check(l.Map(bpf.MapCounters).Lookup(uint32(0), &raw))
	return raw
}

func countsOf(raw *bpf.Counters) Counts {
	counts := make(Counts)
	for verdict := range raw.Total {
		for reason, c := range raw.Total[verdict] {
			if c != (bpf.Counter{}) {
				counts[Outcome{bpf.Verdict(verdict), bpf.Reason(reason)}] = statmap.Of(c)
			}
		}
	}
	return counts
}

//go:build linux

package progtest

import (
	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/thread"
)

// Load is one frame, N times.
type Load struct {
	Frame []byte
	N     int
}

// Parallel runs each load in a thread of its own, each on another CPU, all from the same moment
// on. It returns what each CPU counted. See NeedCPUs.
func (l *Lab) Parallel(loads ...Load) []Counts {
	l.tb.Helper()
	cpus := need.AllowedCPUs()
	if len(cpus) < len(loads) {
		l.tb.Fatalf("%d loads on %d CPUs; call NeedCPUs first", len(loads), len(cpus))
	}
	before := l.cpuCounts()
	l.check(thread.Together(cpus[:len(loads)], func(i int) error { return l.repeat(loads[i].Frame, loads[i].N) }))
	after := l.cpuCounts()
	counts := make([]Counts, len(loads))
	for i, load := range loads {
		counts[i] = after[cpus[i]].Since(before[cpus[i]])
		if got := counts[i].Packets(); got != uint64(load.N) {
			l.tb.Fatalf("CPU %d counted %d of %d packets", cpus[i], got, load.N)
		}
	}
	return counts
}

// dispatcherRuns is from how many runs on it is faster to let the kernel repeat them: before and
// after it waits for all CPUs, some 20 ms each, to patch a call of the program into its dispatcher.
const dispatcherRuns = 2000

// repeat must run in thread.Run.
func (l *Lab) repeat(frame []byte, n int) error {
	if err := thread.BlockSignals(); err != nil {
		return err
	}
	if n >= dispatcherRuns {
		_, err := l.prog.Run(&ebpf.RunOptions{Data: frame, Repeat: uint32(n)})
		return err
	}
	for range n {
		if _, err := l.prog.Run(&ebpf.RunOptions{Data: frame}); err != nil {
			return err
		}
	}
	return nil
}

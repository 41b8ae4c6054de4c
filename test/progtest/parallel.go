//go:build linux

package progtest

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/need"
)

// anyCPU lets a thread run where the scheduler puts it.
const anyCPU = -1

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
	l.check(l.runTogether(loads, cpus))
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

func (l *Lab) runTogether(loads []Load, cpus []int) error {
	var group sync.WaitGroup
	var ready atomic.Int64
	errs := make([]error, len(loads))
	for i, load := range loads {
		group.Go(func() {
			errs[i] = onThread(cpus[i], func() error {
				// Spinning lets all go within a fraction of a microsecond; waking does not. It
				// comes before signals are blocked, as the runtime stops it by one.
				ready.Add(1)
				for ready.Load() < int64(len(loads)) {
				}
				return l.repeat(load.Frame, load.N)
			})
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// onThread runs fn in a thread of its own, on one CPU or on any. The thread ends with it, so that
// whatever fn does to the thread need not be undone.
func onThread(cpu int, fn func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := moveTo(cpu); err != nil {
			done <- err
			return
		}
		done <- fn()
	}()
	return <-done
}

func moveTo(cpu int) error {
	if cpu == anyCPU {
		return nil
	}
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("move to CPU %d: %w", cpu, err)
	}
	return nil
}

// dispatcherRuns is from how many runs on it is faster to let the kernel repeat them: before and
// after it waits for all CPUs, some 20 ms each, to patch a call of the program into its dispatcher.
const dispatcherRuns = 2000

// repeat must run in onThread. It blocks all signals of the thread: after one, the library would
// start to count the repetitions again.
func (l *Lab) repeat(frame []byte, n int) error {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil); err != nil {
		return fmt.Errorf("block signals: %w", err)
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

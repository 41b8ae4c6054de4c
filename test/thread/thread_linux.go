package thread

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// AnyCPU lets a thread run where the scheduler puts it.
const AnyCPU = -1

// Run runs fn in a thread of its own, on one CPU or on any. The thread ends with it, so that whatever fn does to the thread
// need not be undone.
func Run(cpu int, fn func() error) error {
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

// Together runs fn for each of the CPUs, numbered from 0, in threads of their own, all from the same moment on.
func Together(cpus []int, fn func(i int) error) error {
	var group sync.WaitGroup
	var ready atomic.Int64
	errs := make([]error, len(cpus))
	for i, cpu := range cpus {
		group.Go(func() {
			arrived := false
			errs[i] = Run(cpu, func() error {
				arrived = true
				// Spinning lets all go within a fraction of a microsecond; waking does not. It comes before
				// signals are blocked, as the runtime stops it by one.
				ready.Add(1)
				for ready.Load() < int64(len(cpus)) {
				}
				return fn(i)
			})
			if !arrived { // there is no such CPU, and the others wait
				ready.Add(1)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func moveTo(cpu int) error {
	if cpu == AnyCPU {
		return nil
	}
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("move to CPU %d: %w", cpu, err)
	}
	return nil
}

// BlockSignals must run in Run. After a signal, the library that runs BPF programs would start to count their repetitions
// again.
func BlockSignals() error {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil); err != nil {
		return fmt.Errorf("block signals: %w", err)
	}
	return nil
}

// Time returns the CPU time that the calling thread has used.
func Time() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0, fmt.Errorf("read the CPU time of the thread: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

//go:build linux

package netlab

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// firstCPU returns the lowest CPU that the thread may run on.
func firstCPU() (int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0, os.NewSyscallError("sched_getaffinity", err)
	}
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			return cpu, nil
		}
	}
	return 0, errors.New("this thread may run on no CPU that fits in a CPU set")
}

// onCPU runs fn on one CPU. As with namespaces, a thread that cannot be moved
// back stays locked to the goroutine and ends with it.
func onCPU(cpu int, fn func() error) (err error) {
	runtime.LockOSThread()
	var home, here unix.CPUSet
	here.Set(cpu)
	err = errors.Join(unix.SchedGetaffinity(0, &home), unix.SchedSetaffinity(0, &here))
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("move to CPU %d: %w", cpu, err)
	}
	defer func() {
		if back := unix.SchedSetaffinity(0, &home); back != nil {
			err = errors.Join(err, fmt.Errorf("move away from CPU %d: %w", cpu, back))
			return
		}
		runtime.UnlockOSThread()
	}()
	return fn()
}

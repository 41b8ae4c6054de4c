package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/need"
)

// cpuTime returns the CPU time that the processes or kernel threads of these numbers have used so far, all threads and all
// that they are interrupted by included.
func cpuTime(pids ...int) (sum time.Duration, err error) {
	for _, pid := range pids {
		// As clock_getcpuclockid(3) makes it of a number; 2 is CPUCLOCK_SCHED.
		var now unix.Timespec
		if err := unix.ClockGettime(int32(^pid<<3|2), &now); err != nil {
			return 0, fmt.Errorf("read the CPU clock of process %d: %w", pid, err)
		}
		sum += time.Duration(now.Nano())
	}
	return sum, nil
}

// ticks are the times of a CPU in /proc/stat, in any unit.
type ticks struct{ busy, all uint64 }

// readTicks reads them: busy are user, nice, system, irq and softirq.
func readTicks(cpu int) (ticks, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return ticks{}, err
	}
	for line := range strings.Lines(string(text)) {
		var user, nice, system, idle, wait, irq, softirq, steal uint64
		n, _ := fmt.Sscanf(line, fmt.Sprintf("cpu%d %%d %%d %%d %%d %%d %%d %%d %%d", cpu),
			&user, &nice, &system, &idle, &wait, &irq, &softirq, &steal)
		if n == 8 {
			busy := user + nice + system + irq + softirq
			return ticks{busy, busy + idle + wait + steal}, nil
		}
	}
	return ticks{}, fmt.Errorf("/proc/stat has no cpu%d", cpu)
}

// since returns which share of the time since then the CPU was busy.
func (t ticks) since(then ticks) float64 {
	return float64(t.busy-then.busy) / float64(max(t.all-then.all, 1))
}

// resident returns how many bytes of memory a process has.
func resident(pid int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	var size, pages uint64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0, fmt.Errorf("read /proc/%d/statm: %w", pid, err)
	}
	return pages * uint64(os.Getpagesize()), nil
}

// twoCPUs returns the first and the last CPU that this process may run on.
func twoCPUs() (first, last int, err error) {
	allowed := need.AllowedCPUs()
	if len(allowed) < 2 {
		return 0, 0, errors.New("needs two CPUs: one for servers, and one for clients")
	}
	return allowed[0], allowed[len(allowed)-1], nil
}

// kernelThreads returns the numbers of the kernel threads whose names begin with prefix.
func kernelThreads(prefix string) (map[int]bool, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	found := make(map[int]bool)
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscan(e.Name(), &pid); err != nil {
			continue
		}
		name, err := os.ReadFile("/proc/" + e.Name() + "/comm")
		if err == nil && bytes.HasPrefix(name, []byte(prefix)) {
			found[pid] = true
		}
	}
	return found, nil
}

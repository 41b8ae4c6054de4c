package requests

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// costs are CPU times since some moment.
type costs struct{ agent, softirq time.Duration }

func (c costs) since(before costs) costs {
	return costs{c.agent - before.agent, c.softirq - before.softirq}
}

// readCosts reads the CPU time of a process and that of the machine's soft interrupts, in which the kernel receives
// packets: also those that the clients receive, and those of whatever else the machine does.
func readCosts(pid int) (costs, error) {
	agent, err := processTime(pid)
	if err != nil {
		return costs{}, err
	}
	softirq, err := softirqTime()
	return costs{agent, softirq}, err
}

// processTime returns the CPU time of all threads of a process, user and system together.
func processTime(pid int) (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED: MAKE_PROCESS_CPUCLOCK of the kernel's posix-timers.h
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|sched, &t); err != nil {
		return 0, fmt.Errorf("read the CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// userHz is the unit of /proc/stat, as all architectures have it that Go is for.
const userHz = 100

// softirqTime returns the time that all CPUs have spent in soft interrupts, in steps of 10 ms.
func softirqTime() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	return parseSoftirq(text)
}

// parseSoftirq reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq.
func parseSoftirq(text []byte) (time.Duration, error) {
	const softirq = 7
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) <= softirq || string(fields[0]) != "cpu" {
		return 0, fmt.Errorf("/proc/stat begins with %.60q, want cpu and at least %d numbers", line, softirq)
	}
	n, err := strconv.ParseUint(string(fields[softirq]), 10, 56)
	if err != nil {
		return 0, fmt.Errorf("/proc/stat: %w", err)
	}
	return time.Duration(n) * time.Second / userHz, nil
}

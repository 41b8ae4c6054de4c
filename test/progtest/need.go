//go:build linux

package progtest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// requireRoot is the environment variable that turns a skip for want of root or of CPUs into a
// failure, so that a test run that is to be complete cannot be silently empty.
const requireRoot = "HEADGATE_REQUIRE_ROOT"

// NeedRoot skips the test, with the reason, unless it runs as root. With HEADGATE_REQUIRE_ROOT=1
// in the environment it fails it instead.
func NeedRoot(tb testing.TB) {
	tb.Helper()
	if os.Geteuid() != 0 {
		unmet(tb, "needs root: loads a BPF program")
	}
}

// NeedCPUs skips the test, or fails it as NeedRoot does, unless this process may run on n CPUs.
func NeedCPUs(tb testing.TB, n int) {
	tb.Helper()
	if cpus := allowedCPUs(); len(cpus) < n {
		unmet(tb, "needs more CPUs than this process may run on")
	}
}

func unmet(tb testing.TB, reason string) {
	tb.Helper()
	if os.Getenv(requireRoot) == "1" {
		tb.Fatalf("%s (%s is set)", reason, requireRoot)
	}
	tb.Skip(reason)
}

// allowedCPUs returns the numbers of the CPUs that this process may run on.
func allowedCPUs() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil
	}
	var cpus []int
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

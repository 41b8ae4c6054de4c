//go:build linux

package need

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// required is the environment variable that turns a skip into a failure, so that a test run that
// is to be complete cannot be silently empty.
const required = "HEADGATE_REQUIRE_ROOT"

// Root skips the test unless it runs as root.
func Root(tb testing.TB) {
	tb.Helper()
	if os.Geteuid() != 0 {
		unmet(tb, "needs root, for namespaces and BPF programs")
	}
}

// Program returns the path of a program, and skips the test where it is not installed. install says how it would be.
func Program(tb testing.TB, name, install string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		unmet(tb, "needs the program "+name+": "+install)
	}
	return path
}

// CPUs skips the test unless this process may run on n CPUs.
func CPUs(tb testing.TB, n int) {
	tb.Helper()
	if len(AllowedCPUs()) < n {
		unmet(tb, "needs more CPUs than this process may run on")
	}
}

func unmet(tb testing.TB, reason string) {
	tb.Helper()
	if os.Getenv(required) == "1" {
		tb.Fatalf("%s (%s is set)", reason, required)
	}
	tb.Skip(reason)
}

// AllowedCPUs returns the numbers of the CPUs that this process may run on.
func AllowedCPUs() []int {
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

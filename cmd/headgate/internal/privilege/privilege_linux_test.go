package privilege_test

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/headgate/headgate/cmd/headgate/internal/privilege"
	"github.com/headgate/headgate/test/need"
)

// TestKeep runs this test again as a process of its own, as what is given up never comes back.
func TestKeep(t *testing.T) {
	need.Root(t)
	if os.Getenv("HEADGATE_TEST_KEEP") != "" {
		runtime.LockOSThread() // another thread than the one that main began with
		if err := privilege.Keep(privilege.NetAdmin, privilege.LowPorts); err != nil {
			t.Fatal(err)
		}
		for _, line := range capabilities(t) {
			t.Log(line)
		}
		child, err := exec.CommandContext(t.Context(), "grep", "CapEff", "/proc/self/status").Output()
		t.Logf("of a child process: %s, %v", bytes.ReplaceAll(child, []byte("CapEff"), []byte("effective")), err)
		return
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestKeep$", "-test.v")
	cmd.Env = append(os.Environ(), "HEADGATE_TEST_KEEP=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const kept = "0000000000001400" // CAP_NET_ADMIN is bit 12, CAP_NET_BIND_SERVICE bit 10
	for _, name := range []string{"CapPrm", "CapEff"} {
		if all := strings.Count(string(out), name); all < 3 {
			t.Errorf("%d threads, want several:\n%s", all, out)
		}
		if right := strings.Count(string(out), name+":\t"+kept); right != strings.Count(string(out), name) {
			t.Errorf("%s is not %s in all threads:\n%s", name, kept, out)
		}
	}
	if !strings.Contains(string(out), "of a child process: effective:\t"+kept) && !strings.Contains(string(out), "of a child process: effective:\t0000000000000000") {
		t.Errorf("a program that is executed gets back what was given up:\n%s", out)
	}
}

// capabilities returns the lines about capabilities of all threads.
func capabilities(t *testing.T) (lines []string) {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		status, err := os.ReadFile("/proc/self/task/" + thread.Name() + "/status")
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(status)) {
			if strings.HasPrefix(line, "CapPrm") || strings.HasPrefix(line, "CapEff") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	return lines
}

package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// command is headgate, run on the host of a lab.
type command struct {
	*exec.Cmd
	lab      *lab
	out, err bytes.Buffer
}

// result is what a command came to. Code is -1 where a signal ended it.
type result struct {
	code           int
	stdout, stderr string
}

// command prepares a command. It reads no input, and by default knows of no SSH session, also
// where these tests are run in one.
func (l *lab) command(args ...string) *command {
	c := &command{Cmd: exec.Command(os.Getenv(binaryVariable), args...), lab: l}
	c.Env = []string{"HEADGATE_PIN=" + l.pin, "SSH_CONNECTION=none", "TERM=xterm"}
	c.Stdout, c.Stderr = &c.out, &c.err
	return c
}

// with adds to the environment.
func (c *command) with(variables ...string) *command {
	c.Env = append(c.Env, variables...)
	return c
}

// start starts the command in the lab's namespace. It is over when the test is.
func (c *command) start() *command {
	c.lab.tb.Helper()
	if err := c.lab.pair.Far.Namespace.Do(c.Start); err != nil {
		c.lab.tb.Fatal(err)
	}
	c.lab.tb.Cleanup(c.kill)
	return c
}

// kill ends the command with SIGKILL, where it has not ended, and waits for it.
func (c *command) kill() {
	if c.ProcessState == nil {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}

// wait waits for the end of a command.
func (c *command) wait() result {
	c.lab.tb.Helper()
	var exit *exec.ExitError
	if err := c.Wait(); err != nil && !errors.As(err, &exit) {
		c.lab.tb.Fatal(err)
	}
	c.lab.remember()
	return result{code: c.ProcessState.ExitCode(), stdout: c.out.String(), stderr: c.err.String()}
}

func (c *command) run() result {
	c.lab.tb.Helper()
	return c.start().wait()
}

// signal sends a signal to a command that runs.
func (c *command) signal(s syscall.Signal) {
	c.lab.tb.Helper()
	if err := c.Process.Signal(s); err != nil {
		c.lab.tb.Fatal(err)
	}
}

// hasOpen says whether a command that runs has a file open.
func (c *command) hasOpen(path string) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.Process.Pid))
	return slices.ContainsFunc(files, func(file string) bool {
		target, err := os.Readlink(file)
		return err == nil && target == path
	})
}

// run runs headgate and returns what came of it, whatever that is.
func (l *lab) run(args ...string) result {
	l.tb.Helper()
	return l.command(args...).run()
}

// must runs headgate, which has to succeed.
func (l *lab) must(args ...string) result {
	l.tb.Helper()
	r := l.run(args...)
	if r.code != 0 {
		l.tb.Fatalf("headgate %s: exit %d: %s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r
}

// attach attaches with tables that are quick to make.
func (l *lab) attach(args ...string) result {
	l.tb.Helper()
	return l.must(slices.Concat([]string{"attach", l.dev(), "--max-sources", "4096"}, args)...)
}

// wantError checks that a command failed with this code, and said so in one line.
func (r result) wantError(tb testing.TB, code int, text string) {
	tb.Helper()
	if r.code != code {
		tb.Errorf("exit %d, want %d", r.code, code)
	}
	if lines := r.errorLines(); len(lines) != 1 || !strings.Contains(lines[0], text) {
		tb.Errorf("errors %q, want one line with %q", lines, text)
	}
}

// errorLines are the lines on stderr that are no notes.
func (r result) errorLines() (lines []string) {
	for line := range strings.Lines(r.stderr) {
		if !strings.HasPrefix(line, "headgate: note: ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// wantNote checks that a command said something that is no error.
func (r result) wantNote(tb testing.TB, text string) {
	tb.Helper()
	for line := range strings.Lines(r.stderr) {
		if strings.HasPrefix(line, "headgate: note: ") && strings.Contains(line, text) {
			return
		}
	}
	tb.Errorf("no note with %q in %q", text, r.stderr)
}

// query runs a command that reads and decodes its JSON.
func query[V any](l *lab, args ...string) (v V) {
	l.tb.Helper()
	r := l.must(append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
		l.tb.Fatalf("headgate %s: %v in %s", strings.Join(args, " "), err, r.stdout)
	}
	return v
}

// packets is a counter as JSON has it.
type packets struct{ Packets, Bytes uint64 }

// The parts of the JSON contract that these tests read.
type (
	statsJSON struct {
		Pass, Drop packets
		WouldDrop  packets `json:"would_drop"`
		Reasons    map[string]uint64
		Policies   []struct {
			Name       string
			Pass, Drop packets
		}
		TrackedSources  int `json:"tracked_sources"`
		VerifiedSources int `json:"verified_sources"`
		Heat            struct {
			ColdPackets uint64 `json:"cold_packets"`
			Inserts     uint64
			Deferred    uint64
		}
	}
	statusJSON struct {
		Interfaces []interfaceJSON
		Rules      int
		Try        *struct{ Until string }
		Heat       struct {
			MemoryBytes uint64 `json:"memory_bytes"`
			Cells       int
			Policies    []struct {
				Policy   string
				HoldsPPS float64 `json:"holds_pps"`
			}
		}
		Memory struct {
			Maps []struct {
				Name       string
				MaxEntries int `json:"max_entries"`
			}
		}
	}
	interfaceJSON struct {
		Name, Mode      string
		Index           int
		ProgramID       uint32 `json:"program_id"`
		Frags, Up, Gone bool
	}
	ruleJSON struct {
		Prefix, Action, Rate, Policy string
		Expires                      *string
	}
	topJSON struct {
		Source, Policy string
		Pass, Drop     packets
	}
	policyJSON struct {
		Name, Rate, Overflow string
		Burst                uint64
	}
)

func (l *lab) stats() statsJSON       { l.tb.Helper(); return query[statsJSON](l, "stats") }
func (l *lab) status() statusJSON     { l.tb.Helper(); return query[statusJSON](l, "status") }
func (l *lab) rules() []ruleJSON      { l.tb.Helper(); return query[[]ruleJSON](l, "rules") }
func (l *lab) policies() []policyJSON { l.tb.Helper(); return query[[]policyJSON](l, "policies") }

// bootTime is the clock that the kernel side decides by.
func bootTime(tb testing.TB) uint64 {
	tb.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		tb.Fatal(err)
	}
	return uint64(ts.Nano())
}

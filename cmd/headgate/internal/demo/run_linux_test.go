package demo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/test/leak"
	"github.com/headgate/headgate/test/need"
)

// second makes the demo a short one.
const second = 100 * time.Millisecond

func TestRun(t *testing.T) {
	need.Root(t)
	leavesNothing(t)
	var live bytes.Buffer
	summary, err := demo.Run(t.Context(), demo.Options{Live: &live, Second: second, Program: program(t)})
	if err != nil {
		t.Fatal(err)
	}
	if !summary.OK {
		var b bytes.Buffer
		err := render.Write(&b, render.Table, summary)
		t.Errorf("numbers are off, error %v:\n%s", err, b.String())
	}
	if summary.Mode != "native" || len(summary.Checks) != 6*4 || len(summary.HTTP.Checks) != 4*2 || summary.Lines() != 43 {
		t.Errorf("mode %s, %d and %d checks, %d lines, want native, 24, 8, 43",
			summary.Mode, len(summary.Checks), len(summary.HTTP.Checks), summary.Lines())
	}
	for _, want := range []string{
		`\$ headgate attach demo1 --rate 1000pps --burst 100\n`,
		`\$ headgate set 203\.0\.113\.66 --rate 100pps --burst 10\n`,
		`\$ headgate unset 203\.0\.113\.66\n`,
		`\$ headgate block 203\.0\.113\.66 --for 200ms\n`,
		`\$ headgate run -c headgate.yaml\n`,
		`\$ headgate reload\n +read headgate.yaml\n`,
		`\n +203\.0\.113\.66/32 +block .* in 1s +handdown\n`,
		`\n +203\.0\.113\.66/32 +block .* in 2s +handdown\n`,
		`\n +[0-9:.]+ +handdown +203\.0\.113\.66 .*for 1s, 20 offences within 10s`,
		`msg="a source was handed down" source=203\.0\.113\.66/32 .* for=2s strike=2`,
	} {
		if !regexp.MustCompile(want).Match(live.Bytes()) {
			t.Errorf("nothing matches %q in:\n%s", want, live.String())
		}
	}
}

// stopper calls stop once, when it is written for the nth time, or when a text is written.
type stopper struct {
	n    int    // 0 for any
	at   string // "" for any
	stop func()
	err  error
}

func (s *stopper) Write(b []byte) (int, error) {
	s.n--
	if s.n > 0 || !bytes.Contains(b, []byte(s.at)) || s.stop == nil {
		return len(b), nil
	}
	s.stop()
	s.stop = nil
	return 0, s.err
}

// A demo that is interrupted, whenever that is, ends with an error and leaves nothing.
func TestInterrupt(t *testing.T) {
	need.Root(t)
	for _, at := range []string{
		"1. ", "$ headgate attach", "4. ", "Now requests", "$ headgate run", "8. ", "$ headgate reload", "10. ", "strike=2",
	} {
		leavesNothing(t)
		ctx, cancel := context.WithCancel(t.Context())
		live := &stopper{at: at, stop: cancel}
		_, err := demo.Run(ctx, demo.Options{Live: live, Second: second, Program: program(t)})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted at %q: error %v, want %v", at, err, context.Canceled)
		}
	}
}

// A second of the script is an hour here: were the ticks not to end with ctx, this would not.
func TestInterruptEndsTraffic(t *testing.T) {
	need.Root(t)
	leavesNothing(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	live := &stopper{n: 10, stop: cancel}
	terminal := func() (int, int, bool) { return 80, 24, true }
	_, err := demo.Run(ctx, demo.Options{Live: live, Terminal: terminal, Second: time.Hour})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestOutputError(t *testing.T) {
	need.Root(t)
	leavesNothing(t)
	full := errors.New("no space left on device")
	for _, at := range []string{"$ headgate set", "$ headgate reload"} {
		live := &stopper{at: at, stop: func() {}, err: full}
		if _, err := demo.Run(t.Context(), demo.Options{Live: live, Second: second, Program: program(t)}); !errors.Is(err, full) {
			t.Errorf("at %q: error %v, want %v", at, err, full)
		}
	}
}

// A demo whose process is killed has no process and no file left.
func TestKill(t *testing.T) {
	need.Root(t)
	leavesNothing(t)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), runVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !readUntil(out, "headgate reload") {
		t.Error("the demo ended before the second act")
	}
	if all := processes(t); len(all) < 4 {
		t.Errorf("processes %v, want at least the agent, the backend and two clients", all)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
}

// readUntil reads until something was written.
func readUntil(from io.Reader, text string) bool {
	var all []byte
	for buffer := make([]byte, 4096); !bytes.Contains(all, []byte(text)); {
		n, err := from.Read(buffer)
		if err != nil {
			return false
		}
		all = append(all, buffer[:n]...)
	}
	return true
}

// processes returns the commands of processes that a demo in the directory for temporary files has started.
func processes(t *testing.T) (commands []string) {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(environments) == 0 {
		t.Fatalf("processes %v, error %v", environments, err)
	}
	for _, file := range environments {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte("HEADGATE_SOCKET="+os.TempDir()+"/")) {
			continue // it has ended, or is none of ours
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		commands = append(commands, strings.ReplaceAll(string(command), "\x00", " "))
	}
	return commands
}

// leavesNothing checks, when the test ends, that there are no mounts, files and processes of the demo, no more
// file descriptors than now, and no thread in another network namespace.
func leavesNothing(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	leak.Check(t)
	t.Cleanup(func() {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("left %v in the temporary directory, error %v", entries, err)
		}
		if mounts, err := os.ReadFile("/proc/thread-self/mountinfo"); err != nil || bytes.Contains(mounts, []byte(dir)) {
			t.Errorf("left a mount on %s, error %v:\n%s", dir, err, mounts)
		}
		inOwnNamespace(t)
		noProcesses(t)
	})
}

// noProcesses waits until the processes of a demo have ended: those of one that was killed end a moment later.
func noProcesses(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); len(processes(t)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("left %q", processes(t))
			return
		}
	}
}

// inOwnNamespace fails where a thread is in another network namespace than this one.
func inOwnNamespace(t *testing.T) {
	t.Helper()
	own, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	threads, err := filepath.Glob("/proc/self/task/*/ns/net")
	if err != nil || len(threads) == 0 {
		t.Fatalf("threads %v, error %v", threads, err)
	}
	for _, thread := range threads {
		// One that has ended meanwhile is in none.
		if ns, err := os.Readlink(thread); err == nil && ns != own {
			t.Errorf("%s is %s, want %s", thread, ns, own)
		}
	}
}

package demo_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
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
	summary, err := demo.Run(t.Context(), demo.Options{Live: &live, Second: second})
	if err != nil {
		t.Fatal(err)
	}
	if !summary.OK {
		var b bytes.Buffer
		err := render.Write(&b, render.Table, summary)
		t.Errorf("numbers are off, error %v:\n%s", err, b.String())
	}
	if summary.Mode != "native" || len(summary.Checks) != 6*4 {
		t.Errorf("mode %s, %d checks, want native, 24", summary.Mode, len(summary.Checks))
	}
	for _, want := range []string{
		"$ headgate attach demo1 --rate 1000pps --burst 100\n",
		"$ headgate set 203.0.113.66 --rate 100pps --burst 10\n",
		"$ headgate unset 203.0.113.66\n",
		"$ headgate block 203.0.113.66 --for 200ms\n",
	} {
		if !strings.Contains(live.String(), want) {
			t.Errorf("no line %q in:\n%s", want, live.String())
		}
	}
}

// stopper calls stop when something is written for the nth time.
type stopper struct {
	writes, n int
	stop      func()
	err       error
}

func (s *stopper) Write(b []byte) (int, error) {
	if s.writes++; s.writes == s.n {
		s.stop()
		return 0, s.err
	}
	return len(b), nil
}

// A demo that is interrupted, whenever that is, ends with an error and leaves nothing.
func TestInterrupt(t *testing.T) {
	need.Root(t)
	for n := 1; n <= 20; n += 3 {
		leavesNothing(t)
		ctx, cancel := context.WithCancel(t.Context())
		live := &stopper{n: n, stop: cancel, err: nil}
		_, err := demo.Run(ctx, demo.Options{Live: live, Second: second})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted at write %d: error %v, want %v", n, err, context.Canceled)
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
	live := &stopper{n: 8, stop: func() {}, err: full}
	if _, err := demo.Run(t.Context(), demo.Options{Live: live, Second: second}); !errors.Is(err, full) {
		t.Errorf("error %v, want %v", err, full)
	}
}

// leavesNothing checks, when the test ends, that there are no mounts and files of the demo, no more
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
	})
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

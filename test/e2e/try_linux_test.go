package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// trying is an attach that waits to be confirmed.
type trying struct {
	*command
	in     *os.File
	stderr transcript
	began  uint64 // not after the deadline began to run,
	asked  uint64 // and not before
	lasts  time.Duration
}

const askForEnter = "press Enter within"

// startTrial limits to a burst of 1, on trial, and returns when headgate waits for an answer.
func startTrial(l *lab, lasts time.Duration) *trying {
	l.tb.Helper()
	y := &trying{
		command: l.command("attach", l.dev(), "--max-sources", "4096", "--rate", never, "--burst", "1", "--try", lasts.String()),
		lasts:   lasts,
	}
	y.in = y.input()
	y.Stderr = &y.stderr
	y.began = bootTime(l.tb)
	y.start()
	y.stderr.await(l.tb, askForEnter)
	y.asked = bootTime(l.tb)
	l.remember()
	return y
}

// checkBefore checks that it still counts, which it does until the deadline.
func (y *trying) checkBefore() {
	y.lab.tb.Helper()
	got := y.lab.passed(udp(flooder), 10)
	if early := bootTime(y.lab.tb) < y.began+uint64(y.lasts); got != 1 && early {
		y.lab.tb.Errorf("%d of 10 packets passed on trial, want 1", got)
	}
}

// newTrial is a lab with an instance that lets 7 packets pass, or without one.
func newTrial(t *testing.T, exists bool) *lab {
	l := newLab(t)
	if exists {
		l.attach("--rate", never, "--burst", "7")
		l.must("block", modest)
	}
	return l
}

// wantBefore checks that all is as newTrial made it.
func (l *lab) wantBefore(exists bool) {
	l.tb.Helper()
	if !exists {
		l.wantNoInstance()
		return
	}
	l.wantPassed(udp("203.0.113.99"), 10, 7)
	l.wantPassed(udp(modest), 10, 0)
	if l.status().Try != nil {
		l.tb.Error("status has a trial")
	}
	if p := l.policies(); p[0].Burst != 7 {
		l.tb.Errorf("policies %+v, want a burst of 7", p)
	}
}

func forBoth(t *testing.T, test func(t *testing.T, exists bool)) {
	for name, exists := range map[string]bool{"new instance": false, "instance": true} {
		t.Run(name, func(t *testing.T) { test(t, exists) })
	}
}

// TestTryConfirmed keeps what was tried, also when the watch comes to its end.
func TestTryConfirmed(t *testing.T) {
	forBoth(t, func(t *testing.T, exists bool) {
		l := newTrial(t, exists)
		y := startTrial(l, time.Minute)
		y.checkBefore()
		if l.status().Try == nil {
			t.Error("status has no trial")
		}
		r := l.run("attach", l.dev(), "--rate", "5pps")
		r.wantError(t, 1, "on trial")
		if _, err := y.in.WriteString("\n"); err != nil {
			t.Fatal(err)
		}
		if r := y.wait(); r.code != 0 || !strings.Contains(y.stderr.String(), "kept") {
			t.Errorf("exit %d: %s", r.code, y.stderr.String())
		}
		killWatch(t, l)
		l.must("try-watch", fmt.Sprint(y.began)) // as it ends where it is not killed
		l.wantPassed(udp(third), 10, 1)
		if l.status().Try != nil {
			t.Error("status has a trial")
		}
	})
}

// TestTryConfirmedTooLate has the command sleep while the time runs out, and nobody else to go
// back: the answer that it finds then comes too late.
func TestTryConfirmedTooLate(t *testing.T) {
	forBoth(t, func(t *testing.T, exists bool) {
		l := newTrial(t, exists)
		y := startTrial(l, time.Second)
		y.signal(syscall.SIGSTOP)
		killWatch(t, l)
		if _, err := y.in.WriteString("\n"); err != nil {
			t.Fatal(err)
		}
		await(t, "the deadline", func() bool { return bootTime(t) >= y.asked+uint64(y.lasts) })
		y.signal(syscall.SIGCONT)
		if r := y.wait(); r.code != 1 || !strings.Contains(y.stderr.String(), "not confirmed: everything is as it was before") {
			t.Errorf("exit %d: %s", r.code, y.stderr.String())
		}
		l.wantBefore(exists)
	})
}

// watches are the processes that watch over a trial of this instance.
func watches(l *lab) (pids []int) {
	for _, pid := range processes(os.Getenv(binaryVariable), "try-watch") {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(line), l.pin) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestTryUnanswered has a terminal that dies: the end of its input is no answer.
func TestTryUnanswered(t *testing.T) {
	forBoth(t, func(t *testing.T, exists bool) {
		l := newTrial(t, exists)
		y := startTrial(l, time.Second)
		y.in.Close()
		y.checkBefore()
		if r := y.wait(); r.code != 1 || !strings.Contains(y.stderr.String(), "not confirmed: everything is as it was before") {
			t.Errorf("exit %d: %s", r.code, y.stderr.String())
		}
		if early := bootTime(t) < y.began+uint64(y.lasts); early {
			t.Error("it went back before the deadline")
		}
		l.wantBefore(exists)
	})
}

// TestTryInterrupted goes back at once, also where the terminal hangs up.
func TestTryInterrupted(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			forBoth(t, func(t *testing.T, exists bool) {
				l := newTrial(t, exists)
				y := startTrial(l, time.Minute)
				killWatch(t, l) // it has nothing to do with it, and would end by itself soon after
				y.signal(s)
				if r := y.wait(); r.code != 1 {
					t.Errorf("exit %d: %s", r.code, y.stderr.String())
				}
				if late := bootTime(t) >= y.began+uint64(y.lasts); late {
					t.Error("it waited for the deadline")
				}
				l.wantBefore(exists)
			})
		})
	}
}

// TestTrySessionEnds gets SIGHUP right after SIGTERM, as from systemd: it goes back all the same.
func TestTrySessionEnds(t *testing.T) {
	for range 10 {
		l := newTrial(t, false)
		y := startTrial(l, time.Minute)
		y.signal(syscall.SIGTERM)
		_ = y.Process.Signal(syscall.SIGHUP) // an error says that it has ended
		if r := y.wait(); r.code != 1 {
			t.Errorf("exit %d: %s", r.code, y.stderr.String())
		}
		l.wantNoInstance()
	}
}

func killWatch(t *testing.T, l *lab) {
	t.Helper()
	await(t, "the start of the watch", func() bool { return len(watches(l)) == 1 })
	if err := syscall.Kill(watches(l)[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the watch", func() bool { return len(watches(l)) == 0 })
}

// TestTryKilled ends the command itself: the watch goes back.
func TestTryKilled(t *testing.T) {
	forBoth(t, func(t *testing.T, exists bool) {
		l := newTrial(t, exists)
		y := startTrial(l, time.Second)
		y.signal(syscall.SIGKILL)
		y.wait()
		y.checkBefore()
		await(t, "the end of the watch", func() bool { return len(watches(l)) == 0 })
		l.wantBefore(exists)
	})
}

// TestTryAllKilled kills the watch too. Nothing is left but the kernel, which goes back by the
// clock; the next command settles it.
func TestTryAllKilled(t *testing.T) {
	forBoth(t, func(t *testing.T, exists bool) {
		l := newTrial(t, exists)
		y := startTrial(l, 2*time.Second)
		y.signal(syscall.SIGKILL)
		y.wait()
		killWatch(t, l)
		y.checkBefore()
		await(t, "the deadline", func() bool { return bootTime(t) >= y.asked+uint64(y.lasts) })
		want := 10
		if exists {
			want = 7
		}
		l.wantPassed(udp(third), 10, want)
		if exists {
			l.must("set", "203.0.113.0/28", "--rate", "5pps")
		} else {
			l.run("block", "10.0.0.1").wantError(t, 1, "was not confirmed")
		}
		l.wantBefore(exists)
	})
}

// TestTryInterfaceOnly has the trial attach to a second interface: only that one is let go.
func TestTryInterfaceOnly(t *testing.T) {
	l := newTrial(t, true)
	other := l.beside(pairTwo(), l.pin)
	y := startTrial(other, time.Second)
	y.in.Close()
	y.wait()
	if id := other.programID(); id != 0 {
		t.Errorf("program %d is on %s after the trial", id, other.dev())
	}
	l.wantBefore(true)
}

// TestTryInterfaceAllKilled leaves only the kernel to let go of the second interface; the next
// command detaches from it.
func TestTryInterfaceAllKilled(t *testing.T) {
	l := newTrial(t, true)
	other := l.beside(pairTwo(), l.pin)
	y := startTrial(other, 2*time.Second)
	y.signal(syscall.SIGKILL)
	y.wait()
	killWatch(t, l)
	await(t, "the deadline", func() bool { return bootTime(t) >= y.asked+uint64(y.lasts) })
	other.wantPassed(udp(third), 10, 10)
	other.wantPassed(udp(modest), 10, 10) // blocked, but not on this interface
	l.must("allow", "10.0.0.1")
	if id := other.programID(); id != 0 {
		t.Errorf("program %d is on %s after the trial", id, other.dev())
	}
	l.wantBefore(true)
}

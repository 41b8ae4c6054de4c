package e2e_test

import (
	"errors"
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

// early says that the deadline has not come yet.
func (y *trying) early() bool {
	y.lab.tb.Helper()
	return bootTime(y.lab.tb) < y.began+uint64(y.lasts)
}

// late says that the deadline is over.
func (y *trying) late() bool {
	y.lab.tb.Helper()
	return bootTime(y.lab.tb) >= y.asked+uint64(y.lasts)
}

// checkBefore checks that it still counts, which it does until the deadline.
func (y *trying) checkBefore() {
	y.lab.tb.Helper()
	if got := y.lab.passed(udp(flooder), 10); got != 1 && y.early() {
		y.lab.tb.Errorf("%d of 10 packets passed on trial, want 1", got)
	}
}

// abandon starts a trial, stops or ends its command by a signal, and kills the watch, all before the
// deadline. Where the machine was too slow for that, it tries again with twice the time.
func abandon(t *testing.T, l *lab, s syscall.Signal, lasts time.Duration) *trying {
	t.Helper()
	for ; lasts < pollLimit; lasts *= 2 {
		y := startTrial(l, lasts)
		y.signal(s)
		if s == syscall.SIGKILL {
			y.wait()
		}
		if killWatch(t, l, y.early) {
			return y
		}
		y.kill()
		await(t, "the deadline", y.late) // from which on there can be another trial
		t.Logf("a trial of %s was over before its watch was killed", lasts)
	}
	t.Fatalf("a trial of %s is over before its watch is killed", lasts/2)
	return nil
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
		killWatch(t, l, y.early) // which would end by itself once this is confirmed
		if _, err := y.in.WriteString("\n"); err != nil {
			t.Fatal(err)
		}
		if r := y.wait(); r.code != 0 || !strings.Contains(y.stderr.String(), "kept") {
			t.Errorf("exit %d: %s", r.code, y.stderr.String())
		}
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
		y := abandon(t, l, syscall.SIGSTOP, time.Second)
		if _, err := y.in.WriteString("\n"); err != nil {
			t.Fatal(err)
		}
		await(t, "the deadline", y.late)
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
		if y.early() {
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
				killWatch(t, l, y.early) // it has nothing to do with it, and would end by itself soon after
				y.signal(s)
				if r := y.wait(); r.code != 1 {
					t.Errorf("exit %d: %s", r.code, y.stderr.String())
				}
				if !y.early() {
					t.Error("it waited for the deadline")
				}
				l.wantBefore(exists)
			})
		})
	}
}

// TestTrySessionEnds gets SIGHUP right after SIGTERM, as from systemd: it goes back all the same. The
// kernel swaps them where the process did not run in between.
func TestTrySessionEnds(t *testing.T) {
	for n := range 10 {
		first, second := syscall.SIGTERM, syscall.SIGHUP
		if n%2 == 1 {
			first, second = second, first
		}
		l := newTrial(t, false)
		y := startTrial(l, time.Minute)
		y.signal(first)
		_ = y.Process.Signal(second) // an error says that it has ended
		if r := y.wait(); r.code != 1 {
			t.Errorf("exit %d: %s", r.code, y.stderr.String())
		}
		l.wantNoInstance()
	}
}

// killWatch ends the watch over a trial, and returns whether that was early enough: from its deadline
// on, it may have gone back before.
func killWatch(t *testing.T, l *lab, early func() bool) bool {
	t.Helper()
	var pids []int
	await(t, "the start of the watch", func() bool {
		pids = watches(l)
		return len(pids) == 1 || !early()
	})
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	await(t, "the end of the watch", func() bool { return len(watches(l)) == 0 })
	return early()
}

// TestTryKilled ends the command itself: the watch goes back.
func TestTryKilled(t *testing.T) {
	forBoth(t, func(t *testing.T, exists bool) {
		l := newTrial(t, exists)
		y := startTrial(l, time.Second)
		y.signal(syscall.SIGKILL)
		y.wait()
		y.checkBefore()
		await(t, "the end of the watch", func() bool { return y.late() && len(watches(l)) == 0 })
		l.wantBefore(exists)
	})
}

// TestTryAllKilled kills the watch too. Nothing is left but the kernel, which goes back by the
// clock; the next command settles it.
func TestTryAllKilled(t *testing.T) {
	forBoth(t, func(t *testing.T, exists bool) {
		l := newTrial(t, exists)
		y := abandon(t, l, syscall.SIGKILL, 2*time.Second)
		y.checkBefore()
		await(t, "the deadline", y.late)
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
	y := abandon(t, other, syscall.SIGKILL, 2*time.Second)
	await(t, "the deadline", y.late)
	other.wantPassed(udp(third), 10, 10)
	other.wantPassed(udp(modest), 10, 10) // blocked, but not on this interface
	l.must("allow", "10.0.0.1")
	if id := other.programID(); id != 0 {
		t.Errorf("program %d is on %s after the trial", id, other.dev())
	}
	l.wantBefore(true)
}

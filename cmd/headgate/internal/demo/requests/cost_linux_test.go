package requests

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseSoftirq(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"cpu  1 2 3 4 5 6 789 8 9 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n": 7890 * time.Millisecond,
		"cpu 0 0 0 0 0 0 0": 0,
	} {
		if got, err := parseSoftirq([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %v, error %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "cpu 1 2 3 4 5 6", "cpu0 1 2 3 4 5 6 7", "cpu 1 2 3 4 5 6 x"} {
		if got, err := parseSoftirq([]byte(text)); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}

// The clock of a process is what the kernel accounts it for.
func TestProcessTime(t *testing.T) {
	account := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := account()
	got, err := processTime(os.Getpid())
	// The account may be of a tick ago.
	if after := account(); err != nil || got < before-time.Microsecond || got > after+100*time.Millisecond {
		t.Errorf("%v, error %v, want %v to %v", got, err, before, after)
	}
	if _, err := processTime(1 << 23); err == nil {
		t.Error("a process that does not exist has a CPU time")
	}
}

func TestSoftirqTime(t *testing.T) {
	first, err := softirqTime()
	if err != nil {
		t.Fatal(err)
	}
	if second, err := softirqTime(); err != nil || second < first {
		t.Errorf("%v after %v, error %v", second, first, err)
	}
}

func TestJournal(t *testing.T) {
	var j journal
	for _, text := range []string{"listening\nhanded", " down strike=1"} {
		if _, err := j.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if line, ok := j.line("listening"); !ok || string(line) != "listening\n" {
		t.Errorf("line %q, %t", line, ok)
	}
	if line, ok := j.line("strike=1"); ok {
		t.Errorf("line %q is not whole", line)
	}
}

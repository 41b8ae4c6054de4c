package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
)

// liveTop is a top on a terminal of 60 by 8 with a source that passes 10 and loses 20 packets a
// second.
func liveTop(t *testing.T, c *console) *top {
	t.Helper()
	c.terminal = func(io.Writer) (int, int, bool) { return 60, 8, true }
	seconds := 0
	return &top{
		env:   c.env,
		flags: &topFlags{by: byDropped, limit: defaultTopLimit, interval: time.Second},
		sample: func() (sample, error) {
			n := uint64(seconds)
			s := testSample(t, seconds, source("10.0.0.1", 10*n, 20*n, 0), source("10.0.0.2", 1, 0, 0))
			seconds++
			return *s, nil
		},
	}
}

// pictures splits what was drawn, and checks that the terminal is as it was before.
func pictures(t *testing.T, out string) []string {
	t.Helper()
	inner, entered := strings.CutPrefix(out, enterScreen)
	inner, left := strings.CutSuffix(inner, leaveScreen)
	if !entered || !left {
		t.Fatalf("the terminal is not left as it was: %q", out)
	}
	return strings.Split(inner, homeCursor)[1:]
}

func TestTopLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConsole()
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		if err := liveTop(t, c).live(ctx, nil); err != nil {
			t.Fatal(err)
		}
		got := pictures(t, c.out.String())
		if len(got) != 3 {
			t.Fatalf("%d pictures in 2.5 s, want 3: %q", len(got), got)
		}
		want := strings.Join([]string{
			"headgate top   12:00:02   every 1s   q to quit",
			"pass 10/s (8.0 kbit/s)   drop 20/s   sources 2 of 1000",
			"",
			"SOURCE    POLICY   PASS/s  DROP/s  PASSED  DROPPED",
			"10.0.0.1  default      10      20      20       40",
			"10.0.0.2  default       0       0       1        0",
		}, clearLine+"\r\n") + clearLine + clearBelow
		if got[2] != want {
			t.Errorf("third picture\n%q, want\n%q", got[2], want)
		}
		if !strings.Contains(got[0], "pass -/s (-)   drop -/s") {
			t.Errorf("the first picture has rates: %q", got[0])
		}
	})
}

func TestTopKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConsole()
		keys := make(chan byte)
		go func() {
			keys <- 'x'
			time.Sleep(1500 * time.Millisecond)
			keys <- 'q'
		}()
		if err := liveTop(t, c).live(t.Context(), keys); err != nil {
			t.Fatal(err)
		}
		if got := pictures(t, c.out.String()); len(got) != 2 {
			t.Errorf("%d pictures until q after 1.5 s, want 2", len(got))
		}
	})
}

// Keys that end, as at the end of a pipe, do not end the display.
func TestTopWithoutKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConsole()
		keys := make(chan byte)
		close(keys)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if err := liveTop(t, c).live(ctx, keys); err != nil {
			t.Fatal(err)
		}
		if got := pictures(t, c.out.String()); len(got) != 2 {
			t.Errorf("%d pictures in 1.5 s, want 2", len(got))
		}
	})
}

func TestTopLiveFailures(t *testing.T) {
	c := newConsole()
	failing := liveTop(t, c)
	failing.sample = func() (sample, error) { return sample{}, errBroken }
	if err := failing.live(t.Context(), nil); !errors.Is(err, errBroken) || len(pictures(t, c.out.String())) != 0 {
		t.Errorf("sample fails: error %v, out %q", err, c.out.String())
	}
	for writes := range 2 {
		c := newConsole()
		c.stdout = &brokenWriter{left: writes}
		if err := liveTop(t, c).live(t.Context(), nil); !errors.Is(err, errBroken) {
			t.Errorf("write %d fails: error %v", writes+1, err)
		}
	}
}

// A small terminal shows what fits, and -n has its way.
func TestTopRows(t *testing.T) {
	for _, tt := range []struct {
		height, limit int
		given         bool
		want          int
	}{{5, 20, false, 1}, {6, 20, false, 2}, {1, 20, false, 0}, {8, 1, true, 1}} {
		c := newConsole()
		live := liveTop(t, c)
		live.flags.limit, live.flags.limitGiven = tt.limit, tt.given
		c.terminal = func(io.Writer) (int, int, bool) { return 200, tt.height, true }
		now, err := live.sample()
		if err != nil {
			t.Fatal(err)
		}
		if err := live.draw(screen{c.stdout}, &now, nil); err != nil {
			t.Fatal(err)
		}
		out := c.out.String()
		if got := strings.Count(out, "10.0.0."); got != tt.want {
			t.Errorf("height %d, -n %d: %d rows, want %d", tt.height, tt.limit, got, tt.want)
		}
		if got := strings.Count(out, "\r\n") + 1; got > tt.height {
			t.Errorf("height %d: %d lines", tt.height, got)
		}
	}
}

// Where there is no terminal, and where the user wants it so, there is one picture.
func TestTopOnce(t *testing.T) {
	tests := []struct {
		name     string
		terminal bool
		term     string
		output   string
		once     bool
	}{
		{"no terminal", false, "xterm", "table", false},
		{"--once", true, "xterm", "table", true},
		{"json", true, "xterm", "json", false},
		{"dumb", true, "dumb", "table", false},
	}
	for _, tt := range tests {
		c := newConsole()
		once := liveTop(t, c)
		c.terminal = func(io.Writer) (int, int, bool) { return 80, 24, tt.terminal }
		c.getenv = func(string) string { return tt.term }
		once.flags.once = tt.once
		if err := once.run(t.Context(), &global{output: tt.output}); err != nil {
			t.Fatal(err)
		}
		out := c.out.String()
		if strings.Contains(out, "\x1b") || strings.Count(out, "10.0.0.") != 2 ||
			strings.Contains(out, "PASS/s") || strings.Contains(out, "rates") {
			t.Errorf("%s: %q", tt.name, out)
		}
	}
}

func TestTopOnceMeasures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		once := liveTop(t, newConsole())
		once.flags.intervalGiven = true
		start := time.Now()
		got, err := once.once(t.Context())
		if err != nil || len(got) != 2 {
			t.Fatalf("%v, %v", got, err)
		}
		if want := (render.Rates{PassPackets: 10, PassBits: 8000, DropPackets: 20}); *got[0].Rates != want {
			t.Errorf("rates %+v, want %+v", *got[0].Rates, want)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("measured for %s", took)
		}
	})
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		line  string
		width int
		want  string
	}{{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"abc", 0, ""}, {"", 5, ""}, {"äöü", 2, "äö"}} {
		if got := string(clip([]byte(tt.line), tt.width)); got != tt.want {
			t.Errorf("%q to %d: %q, want %q", tt.line, tt.width, got, tt.want)
		}
	}
}

// What is no terminal has no keys.
func TestReadKeysOfAPipe(t *testing.T) {
	keys, restore := readKeys(t.Context(), strings.NewReader("q"))
	restore()
	if keys != nil {
		t.Error("keys of a pipe")
	}
}

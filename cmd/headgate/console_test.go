package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// testBoot is the boot clock of a console.
const testBoot = uint64(time.Hour)

func testNow() time.Time { return time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC) }

// console is a world for commands that stands still and has no terminal.
type console struct {
	*env
	out, err bytes.Buffer
}

func newConsole() *console {
	c := &console{}
	c.env = &env{
		stdin:    strings.NewReader(""),
		stdout:   &c.out,
		stderr:   &c.err,
		getenv:   func(string) string { return "" },
		now:      testNow,
		bootTime: func() uint64 { return testBoot },
		terminal: func(io.Writer) (int, int, bool) { return 0, 0, false },
	}
	return c
}

func (c *console) run(t *testing.T, args ...string) int {
	t.Helper()
	return run(t.Context(), c.env, args)
}

// Who calls a reading command wrongly is told so in one line, before anything is looked at.
func TestReadingUsage(t *testing.T) {
	tests := []struct {
		args, want string
	}{
		{"policies -o xml", `output "xml": use table or json`},
		{"rules -o xml", `output "xml": use table or json`},
		{"stats -o xml", `output "xml": use table or json`},
		{"status -o xml", `output "xml": use table or json`},
		{"top -o xml", `output "xml": use table or json`},
		{"events -o xml", `output "xml": use table or json`},
		{"version -o xml", `output "xml": use table or json`},
		{"explain 1pps -o xml", `output "xml": use table or json`},
		{"policies x", `policies takes no arguments, and there is "x"; use: headgate policies`},
		{"stats x", `stats takes no arguments, and there is "x"; use: headgate stats`},
		{"status x", `status takes no arguments, and there is "x"; use: headgate status`},
		{"top x", `top takes no arguments, and there is "x"; use: headgate top`},
		{"events x", `events takes no arguments, and there is "x"; use: headgate events`},
		{"version x", `version takes no arguments, and there is "x"; use: headgate version`},
		{"rules 203.0.113.7 203.0.113.8", `name at most one address or prefix, not 2; use: headgate rules [ADDRESS|PREFIX]`},
		{"rules 203.0.113.7/33", `prefix "203.0.113.7/33": use `},
		{"rules fe80::1%eth0", `prefix "fe80::1%eth0": leave out the zone`},
		{"rules --action drop", `action "drop": use allow, block or limit`},
		{"rules --action block 203.0.113.7", `--action chooses from the list; leave it out to ask about 203.0.113.7`},
		{"top --by size", `order "size": use dropped or passed`},
		{"top -n -1", `limit -1: use 1 or more, or 0 for all`},
		{"top --interval 99ms", `interval 99ms: use 100ms or more`},
		{"top --interval fast", `invalid argument "fast"`},
		{"events --count 0", `count 0: use 1 or more`},
		{"events --for 0s", `--for 0s: use a time such as 30s or 5m`},
		{"explain", "explain needs one limit, not 0: `headgate explain 1000pps --burst 100`"},
		{"explain 1pps 2pps", "explain needs one limit, not 2"},
		{"explain off", `off is no limit: everything passes`},
		{"explain 12", `limit "12": no unit that is known; use 500pps`},
		{"explain 10kps", `limit "10kps": no unit that is known`},
		{"explain 1.2.3pps", `rate "1.2.3pps": malformed number`},
		{"explain 0pps", "rate \"0pps\": a rate of 0 would let nothing pass; to let nothing pass, use `headgate block PREFIX`"},
		{"explain 0r/s", "use `headgate block PREFIX`"},
		{"explain 100Mbps", `could mean bits or bytes`},
		{"explain 1pps --burst 0", `burst 0 at 1pps: would let nothing pass; use at least 1`},
		{"explain 1pps --burst 1MB", `count "1MB"`},
		{"explain 1MB/s --burst 1k", `size "1k"`},
		{"explain 1pps --burst 100G", `burst 100000000000 at 1pps: too large`},
		{"explain 1r/s --burst 18446744073709551615", `burst 18446744073709551615: too large`},
	}
	for _, tt := range tests {
		c := newConsole()
		code := c.run(t, strings.Fields(tt.args)...)
		message := c.err.String()
		if code != exitUsage || c.out.Len() > 0 || !strings.Contains(message, tt.want) {
			t.Errorf("%s: exit %d, out %q, err %q; want %q", tt.args, code, c.out.String(), message, tt.want)
		}
		if strings.Count(message, "\n") != 1 || !strings.HasPrefix(message, "headgate: ") {
			t.Errorf("%s: not one line: %q", tt.args, message)
		}
	}
}

var errBroken = errors.New("broken")

// brokenWriter fails after so many writes.
type brokenWriter struct{ left int }

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.left == 0 {
		return 0, errBroken
	}
	w.left--
	return len(b), nil
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"explain", "1pps", "-o", "json"}} {
		c := newConsole()
		c.stdout = &brokenWriter{}
		if code := c.run(t, args...); code != exitFailed || !strings.Contains(c.err.String(), "write the output: broken") {
			t.Errorf("%v: exit %d, err %q", args, code, c.err.String())
		}
	}
}

func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	c := newConsole()
	c.stdout = full
	if code := c.run(t, "version"); code != exitFailed || !strings.Contains(c.err.String(), "no space left") {
		t.Errorf("exit %d, err %q", code, c.err.String())
	}
}

// Each command has what its help needs.
func TestHelp(t *testing.T) {
	for _, verb := range []string{"policies", "rules", "stats", "status", "top", "events", "explain", "check", "replay", "version",
		"agent", "zones", "keys", "peek", "reset", "offenders", "report", "reload", "drain"} {
		c := newConsole()
		code := c.run(t, verb, "--help")
		if help := c.out.String(); code != exitDone || !strings.Contains(help, "Examples:\n  headgate "+verb) {
			t.Errorf("%s --help: exit %d: %s", verb, code, help)
		}
	}
}

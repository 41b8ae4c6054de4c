package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
)

const replayConfig = `
http:
  zones:
    perip: {key: ip, rate: 10r/s}
    slots: {key: ip, concurrent: 1}
  rules:
    - match: {host: example.com}
      limits: [{zone: perip, burst: 1, nodelay: true}]
    - limits: [{zone: slots}]
      dry_run: true
`

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func trace(hosts ...string) string {
	var b strings.Builder
	for i, host := range hosts {
		fmt.Fprintf(&b, `{"t_ms":%d,"ip":"203.0.113.7","host":%q,"took_ms":100}`+"\n", i, host)
	}
	return b.String()
}

// The JSON of a request is as the documentation has it.
func TestReplayJSON(t *testing.T) {
	c := newConsole()
	c.stdin = strings.NewReader(trace("example.com", "example.com", "example.com", "h", "h"))
	if code := c.run(t, "replay", "-c", writeFile(t, "hg.yaml", replayConfig), "--trace", "-", "-o", "json"); code != exitDone {
		t.Fatalf("exit %d, %s", code, c.err.String())
	}
	want := `{"t_ms":0,"allowed":true,"delay_ms":0,"status":200,"dry_run":false,"zone":"perip","excess":0.0,"rule":"rule 1","key":"203.0.113.7","client":"203.0.113.7","line":1}
{"t_ms":1,"allowed":true,"delay_ms":0,"status":200,"dry_run":false,"zone":"perip","excess":0.99,"rule":"rule 1","key":"203.0.113.7","client":"203.0.113.7","line":2}
{"t_ms":2,"allowed":false,"delay_ms":0,"status":429,"dry_run":false,"zone":"perip","excess":1.98,"rule":"rule 1","key":"203.0.113.7","client":"203.0.113.7","line":3,"retry_after_ms":98}
{"t_ms":3,"allowed":true,"delay_ms":0,"status":200,"dry_run":false,"zone":"slots","excess":0.0,"rule":"rule 2","key":"203.0.113.7","client":"203.0.113.7","line":4}
{"t_ms":4,"allowed":true,"delay_ms":0,"status":200,"dry_run":true,"zone":"slots","excess":0.0,"rule":"rule 2","key":"203.0.113.7","client":"203.0.113.7","line":5,"would":"refuse"}
`
	if got := c.out.String(); got != want || c.err.Len() > 0 {
		t.Errorf("got\n%swant\n%s%s", got, want, c.err.String())
	}
}

// summary returns the summary of a recording as JSON has it.
func summary(t *testing.T, wantCode int, args ...string) (render.ReplaySummary, string) {
	t.Helper()
	c := newConsole()
	args = append([]string{"replay", "-c", writeFile(t, "hg.yaml", replayConfig), "--summary", "-o", "json"}, args...)
	if code := c.run(t, args...); code != wantCode {
		t.Fatalf("%v: exit %d, %s", args, code, c.err.String())
	}
	var s render.ReplaySummary
	var times map[string]any
	if err := json.Unmarshal(c.out.Bytes(), &times); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first_ms", "last_ms", "span_ms"} {
		delete(times, name)
	}
	for _, of := range []string{"enforced", "dry_run"} {
		effect, _ := times[of].(map[string]any)
		delete(effect, "longest_delay_ms")
		delete(effect, "total_delay_ms")
	}
	rest, err := json.Marshal(times)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(rest, &s); err != nil {
		t.Fatal(err)
	}
	return s, c.err.String()
}

func TestReplaySummary(t *testing.T) {
	text := trace("example.com", "example.com", "example.com", "h", "h")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{text, packed.String()} {
		s, _ := summary(t, exitDone, "--trace", writeFile(t, "trace", text))
		if s.Requests != 5 || s.Enforced.Refused != 1 || s.Enforced.RefusedShare != 0.2 || s.DryRun.Refused != 1 ||
			s.Enforced.TopClients[0].Client != "203.0.113.7" || s.Keys[0].Requests != 3 || s.Keys[0].Over != 1 || len(s.Notes) != 0 {
			t.Errorf("%+v", s)
		}
	}
	if s, _ := summary(t, exitDone, "--trace", writeFile(t, "trace", text), "--top", "0"); len(s.Keys)+len(s.Enforced.TopClients) != 0 {
		t.Errorf("%+v, want no names", s)
	}
}

const accessLog = `203.0.113.7 - - [29/Nov/2026:12:00:00 +0000] "GET /x?a=1 HTTP/1.1" 200 12 "-" "ua"
203.0.113.7 - - [29/Nov/2026:12:00:00 +0000] "GET /x HTTP/1.1" 200 12 "-" "ua"
203.0.113.7 - - [29/Nov/2026:12:00:00 +0000] "-" 400 0 "-" "-"
203.0.113.7 - - [29/Nov/2026:12:00:00 +0000] "GET /x HTTP/1.1" 200 12 "-" "ua"
`

// A log tells no hosts and whole seconds, and the summary says so.
func TestReplayLog(t *testing.T) {
	log := writeFile(t, "access.log", accessLog)
	s, _ := summary(t, exitDone, "--log", log)
	notes := strings.Join(s.Notes, "\n")
	if s.Requests != 3 || s.NoRequest != 1 || s.Enforced.Refused != 0 || s.FirstAt.Unix() != 1795953600 ||
		!strings.Contains(notes, "whole seconds") || !strings.Contains(notes, "--host names") || !strings.Contains(notes, "took_ms") {
		t.Errorf("%+v", s)
	}
	s, _ = summary(t, exitDone, "--log", log, "--host", "example.com")
	if s.Enforced.Refused != 1 || strings.Contains(strings.Join(s.Notes, "\n"), "--host") {
		t.Errorf("%+v", s)
	}
}

// Lines that cannot be read are told, and the command fails when the others are done.
func TestReplayBadLines(t *testing.T) {
	file := writeFile(t, "trace.jsonl", "{\n"+trace("h")+"x\n")
	s, message := summary(t, exitFailed, "--trace", file)
	if s.Requests != 1 || s.Unreadable != 2 || s.FirstUnreadable[1].Line != 3 {
		t.Errorf("%+v", s)
	}
	// The summary has the reasons, so they are not told again.
	if want := "headgate: " + file + ": left out 2 of 3 lines that could not be read\n"; message != want {
		t.Errorf("%q, want %q", message, want)
	}
	c := newConsole()
	c.stdin = strings.NewReader("x\n" + trace("h"))
	if code := c.run(t, "replay", "-c", writeFile(t, "hg.yaml", replayConfig), "--trace", "-", "-o", "json"); code != exitFailed ||
		strings.Count(c.out.String(), "\n") != 1 || !strings.Contains(c.err.String(), "standard input:1: not JSON") ||
		!strings.HasSuffix(c.err.String(), "left out 1 of 2 lines that could not be read\n") {
		t.Errorf("exit %d, %q, %q", code, c.out.String(), c.err.String())
	}
}

// interrupting ends a context when it has been read.
type interrupting struct {
	io.Reader
	interrupt func()
}

func (r interrupting) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err == io.EOF {
		r.interrupt()
		select {} // as a pipe that nobody writes to
	}
	return n, err
}

// An interrupt ends a replay with what was done until then.
func TestReplayInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := newConsole()
	c.stdin = interrupting{strings.NewReader(trace("h")), cancel}
	code := run(ctx, c.env, []string{"replay", "-c", writeFile(t, "hg.yaml", replayConfig), "--trace", "-"})
	if code != exitFailed || !strings.Contains(c.out.String(), "interrupted  the rest was not replayed") ||
		!strings.Contains(c.err.String(), "interrupted: standard input was not replayed to its end") {
		t.Errorf("exit %d, %q, %q", code, c.out.String(), c.err.String())
	}
}

func TestReplayOutputThatCannotBeWritten(t *testing.T) {
	for name, text := range map[string]string{"few": trace("h"), "many": strings.Repeat(trace("h"), flushAt/100)} {
		c := newConsole()
		c.stdin, c.stdout = strings.NewReader(text), &brokenWriter{}
		code := c.run(t, "replay", "-c", writeFile(t, "hg.yaml", replayConfig), "--trace", "-", "-o", "json")
		if code != exitFailed || strings.Count(c.err.String(), "write the output: broken") != 1 {
			t.Errorf("%s: exit %d, %q", name, code, c.err.String())
		}
	}
}

// What is slow shows how far it is, on a terminal.
func TestReplayProgress(t *testing.T) {
	// Of one long line all would be read before any of it is shown.
	file := writeFile(t, "trace.jsonl", strings.Repeat(strings.Repeat(" ", 1023)+"\n", progressFrom)+trace("h"))
	for _, terminal := range []bool{true, false} {
		c := newConsole()
		c.terminal = func(w io.Writer) (int, int, bool) { return 80, 24, terminal && w == c.stderr }
		c.run(t, "replay", "-c", writeFile(t, "hg.yaml", replayConfig), "--trace", file)
		if got := strings.Contains(c.err.String(), "replaying, KiB"); got != terminal {
			t.Errorf("terminal %t: %q", terminal, c.err.String())
		}
	}
}

// Who calls the commands of HTTP limits wrongly is told so in one line, before anything is read.
func TestHTTPUsage(t *testing.T) {
	for args, want := range map[string]string{
		"check":                                       "name the configuration file: headgate check -c headgate.yaml",
		"check -c x -o xml":                           `output "xml"`,
		"check -c x y":                                `check takes no arguments, and there is "y"`,
		"check -c x --processes 0":                    "--processes 0: use 1 to 1000000",
		"check -c x --processes 1000001":              "--processes 1000001: use 1 to 1000000",
		"replay --trace x":                            "name the configuration file: headgate replay -c headgate.yaml",
		"replay -c x":                                 "name the recording: --trace trace.jsonl or --log access.log",
		"replay -c x --trace y --log z":               "there can be one recording, not both",
		"replay -c - --log -":                         "standard input cannot be both",
		"replay -c x --log y --top -1":                "--top -1: use 0 or more",
		"replay -c x --log y -o xml":                  `output "xml"`,
		"explain -c x":                                "name the address that sends the request: --ip 203.0.113.7",
		"explain -c x --ip y":                         `--ip "y": use an address`,
		"explain -c x --ip unix:/x":                   `use an address such as 203.0.113.7 or 2001:db8::1, or unix: for a Unix socket`,
		"explain -c x --ip ::1 --path login":          `--path "login" does not begin with a slash; use /login`,
		"explain -c x --ip ::1 --path *":              `--path "*" does not begin with a slash`,
		"explain -c x --ip ::1 --path /login?a=1":     `--path "/login?a=1" has a query; use --path /login --query a=1`,
		"explain -c x --ip ::1 10r/s":                 `explain -c takes a request by its flags, and there is "10r/s"`,
		"explain -c x --ip ::1 --burst 1":             "--burst is of a limit, and -c has its own",
		"explain -c x --ip ::1 --header y":            `--header "y": use 'NAME: VALUE'`,
		"explain 10r/s --ip ::1":                      "--ip is of a request, and needs the rules that it meets: -c headgate.yaml",
		"explain 10r/s --algorithm gcra":              `algorithm "gcra": use leaky, nginx, window or sliding`,
		"explain 10r/s --burst 1 --delay 2":           "--delay 2 is more than the burst of 1",
		"explain 10r/s --burst 1 --delay 1 --nodelay": "--nodelay says the same of the whole burst",
		"explain 10r/s --burst 1 --algorithm window":  "algorithm window counts in windows and has no burst",
		"explain 1.5r/s --algorithm sliding":          "not a whole number",
		"explain 1r/h --algorithm nginx":              "nginx has rates per second and per minute only",
		"explain 10pps --nodelay":                     "are for requests; use a limit such as 10r/s",
	} {
		c := newConsole()
		code := c.run(t, strings.Fields(args)...)
		message := c.err.String()
		if code != exitUsage || c.out.Len() > 0 || !strings.Contains(message, want) || strings.Count(message, "\n") != 1 {
			t.Errorf("%s: exit %d, out %q, err %q; want %q", args, code, c.out.String(), message, want)
		}
	}
}

// A recording of which nothing could be read is an error and no summary.
func TestReplayOfNothingReadable(t *testing.T) {
	log, recorded := writeFile(t, "access.log", accessLog), writeFile(t, "trace.jsonl", trace("h", "h"))
	broken := writeFile(t, "broken", "{\n")
	for _, tt := range []struct {
		format, name string
		want         []string
	}{
		{"--log", os.TempDir(), []string{"is a directory"}},
		{"--log", writeFile(t, "x.gz", "\x1f\x8b"), []string{"decompress: unexpected EOF"}},
		{"--trace", log, []string{log + ":1: not JSON", log + ": left out 4 of 4 lines that could not be read; is this an access log? use --log\n"}},
		{"--log", recorded, []string{recorded + ":1: ", "or nginx's main", "left out 2 of 2 lines that could not be read; is this a trace? use --trace\n"}},
		{"--trace", broken, []string{broken + ":1: not JSON", "left out 1 of 1 lines that could not be read\n"}},
		{"--log", writeFile(t, "names", "example.com - -\n"), []string{"left out 1 of 1 lines that could not be read\n"}},
	} {
		for _, output := range [][]string{nil, {"-o", "json"}, {"-o", "json", "--summary"}} {
			c := newConsole()
			args := append([]string{"replay", "-c", writeFile(t, "hg.yaml", replayConfig), tt.format, tt.name}, output...)
			if code := c.run(t, args...); code != exitFailed || c.out.Len() > 0 {
				t.Errorf("%v: exit %d, %q", args, code, c.out.String())
			}
			contains(t, c.err.String(), tt.want...)
		}
	}
}

// Files that are not there, or not right, are failures.
func TestHTTPFailures(t *testing.T) {
	wrong := writeFile(t, "wrong.yaml", "http: {zones: {a: {key: ip}}}")
	for args, want := range map[string]string{
		"check -c /nonexistent":                                  "no such file",
		"check -c " + os.TempDir():                               "is a directory",
		"replay -c /nonexistent --log x":                         "no such file",
		"replay -c " + wrong + " --log x":                        "no limit; add rate",
		"explain -c /nonexistent --ip ::1":                       "no such file",
		"replay -c " + writeFile(t, "r", "") + " --log /nowhere": "headgate: open /nowhere: no such file",
	} {
		c := newConsole()
		if code := c.run(t, strings.Fields(args)...); code != exitFailed || !strings.Contains(c.err.String(), want) {
			t.Errorf("%s: exit %d, %q, want %q", args, code, c.err.String(), want)
		}
	}
}

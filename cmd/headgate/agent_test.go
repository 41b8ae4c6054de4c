package main

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/test/agentfake"
	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/event"
)

// startAgent serves the API of a on a unix socket until the test ends.
func startAgent(t *testing.T, a *agentfake.Agent) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	closing := make(chan struct{})
	server := &http.Server{Handler: admin.NewHandler(a, admin.Options{Closing: closing, Heartbeat: time.Millisecond})}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		close(closing)
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return socket
}

// newAgentConsole is a console whose commands ask a.
func newAgentConsole(t *testing.T, a *agentfake.Agent) *console {
	t.Helper()
	c := newConsole()
	c.getenv = environment(map[string]string{"HEADGATE_SOCKET": startAgent(t, a)})
	return c
}

func environment(all map[string]string) func(string) string {
	return func(name string) string { return all[name] }
}

// Each verb asks the agent for what it is there for, and says what came of it.
func TestAgentVerbs(t *testing.T) {
	tests := []struct {
		args   []string
		out    string   // a part of the table
		json   string   // a part of the JSON, without spaces
		called []string // by one run
	}{
		{[]string{"agent"}, "file        /etc/headgate/headgate.yaml (0123456789ab), read 2026-11-30 11:00:00", `"pid":812`, nil},
		{[]string{"zones"}, "perip  ip       10r/s", `{"name":"perip","key":["ip"]`, nil},
		{
			[]string{"zone", "set", "perip", "--rate", "20r/s"}, "zone perip: 20r/s until the next reload\n",
			`"zone":"perip","changed":1`, []string{"set zone perip to 20r/s 0"},
		},
		{[]string{"zone", "set", "perip", "--rate", "10r/s"}, "nothing to change\n", `"changed":0`, []string{"set zone perip to 10r/s 0"}},
		{
			[]string{"zone", "set", "slots", "--concurrent", "9"}, "zone slots: 9 at a time until the next reload\n",
			`"changed":1`, []string{"set zone slots to  9"},
		},
		{[]string{"keys", "perip", "-n", "1"}, "203.0.113.7  rule 1  10r/s", `"parts":["203.0.113.7"]`, nil},
		{[]string{"keys", "slots"}, "no keys: nobody owes anything\n", `[]`, nil},
		{[]string{"peek", "slots", "203.0.113.7", "/a b"}, "203.0.113.7, /a b  rule 1", `"parts":["203.0.113.7","/ab"]`, nil},
		{
			[]string{"reset", "perip", "203.0.113.7"}, "reset 203.0.113.7 in zone perip\n", `"key":["203.0.113.7"],"changed":1`,
			[]string{`reset perip ["203.0.113.7"]`},
		},
		{
			[]string{"reset", "perip", "203.0.113.8"}, "nothing to change: the key owes nothing\n", `"changed":0`,
			[]string{`reset perip ["203.0.113.8"]`},
		},
		{[]string{"offenders"}, "203.0.113.7          20            2  http     block", `"source":"203.0.113.7/32","offences":20`, nil},
		{
			[]string{"report", "203.0.113.7", "10.0.0.1", "--reason", "failed login", "--count", "3"},
			"203.0.113.7: counted: 3 of 20 offences within 10s\n10.0.0.1: spared: private\n", `"outcome":"spared"`,
			[]string{`report 203.0.113.7/32 "failed login" report 3`, `report 10.0.0.1/32 "failed login" report 3`},
		},
		{
			[]string{"report", "::ffff:203.0.113.7", "--count", "20"}, "203.0.113.7: handed down to the kernel for 1m\n",
			`"for_seconds":60`, []string{`report 203.0.113.7/32 "" report 20`},
		},
		{[]string{"reload"}, "read /etc/headgate/headgate.yaml\n", `"changed":1`, []string{"reload"}},
		{[]string{"drain"}, "the agent ends when the requests under way have\n", `"changed":1`, []string{"drain"}},
	}
	for _, tt := range tests {
		a := &agentfake.Agent{}
		c := newAgentConsole(t, a)
		if code := c.run(t, tt.args...); code != exitDone || !strings.Contains(c.out.String(), tt.out) {
			t.Errorf("%q: exit %d, %q, %q; want %q", tt.args, code, c.out.String(), c.err.String(), tt.out)
		}
		c.out.Reset()
		code := c.run(t, append(slices.Clone(tt.args), "-o", "json")...)
		text := strings.NewReplacer(" ", "", "\n", "").Replace(c.out.String())
		if code != exitDone || !strings.Contains(text, tt.json) || !json.Valid(c.out.Bytes()) {
			t.Errorf("%q as JSON: exit %d, %q, %q; want %q", tt.args, code, c.out.String(), c.err.String(), tt.json)
		}
		if diff := cmp.Diff(slices.Concat(tt.called, tt.called), a.Calls()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.args, diff)
		}
	}
}

// A list is reported as a whole: nothing if a line of it is wrong.
func TestReportList(t *testing.T) {
	a := &agentfake.Agent{}
	c := newAgentConsole(t, a)
	c.stdin = strings.NewReader("203.0.113.7 # ssh\n2001:db8::1\n")
	if code := c.run(t, "report", "--file", "-"); code != exitDone || len(a.Calls()) != 2 {
		t.Errorf("exit %d, %s, %s", code, c.err.String(), a.Calls())
	}
	c.stdin = strings.NewReader("203.0.113.7\nnobody\n")
	if code := c.run(t, "report", "--file", "-"); code != exitFailed || len(a.Calls()) != 2 {
		t.Errorf("a wrong line: exit %d, %s, %s", code, c.err.String(), a.Calls())
	}
	c.out.Reset()
	code := c.run(t, "report", "203.0.113.7", "203.0.113.0/24", "203.0.113.8")
	if code != exitFailed || c.out.String() != "203.0.113.7: counted: 1 of 20 offences within 10s\n" ||
		!strings.Contains(c.err.String(), "203.0.113.0/24 is wider than /32; report addresses") ||
		!strings.Contains(c.err.String(), "203.0.113.0/24 and what comes after it, 2 in all, were not reported") {
		t.Errorf("one that is refused: exit %d, %q, %q", code, c.out.String(), c.err.String())
	}
}

// What the agent refuses is a failure with its words.
func TestAgentRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"zone set none --rate 1r/s":     `no zone "none"`,
		"zone set perip --rate 1kps":    `1kps`,
		"zone set perip --concurrent 2": `zone "perip" has a rate, 10r/s; give another rate`,
		"peek perip a b":                `a key of zone "perip" has 1 parts, not 2`,
		"keys none":                     `zone "none": not found; there are perip and slots`,
		"offenders":                     `hand-down is not configured; add a handdown section`,
		"reload":                        `nothing was changed: headgate.yaml:3:1: wrong`,
	} {
		c := newAgentConsole(t, &agentfake.Agent{Off: true, ReloadError: errors.New("headgate.yaml:3:1: wrong")})
		if code := c.run(t, strings.Fields(args)...); code != exitFailed || !strings.Contains(c.err.String(), want) {
			t.Errorf("%s: exit %d, %q; want %q", args, code, c.err.String(), want)
		}
	}
}

// What is doubtful in a file that was read again is said by whoever had it read.
func TestReloadWarns(t *testing.T) {
	c := newAgentConsole(t, &agentfake.Agent{WithKernel: true, Warnings: []string{"headgate.yaml:3:1: doubtful"}})
	if code := c.run(t, "reload"); code != 0 {
		t.Fatalf("exit %d: %s", code, c.err.String())
	}
	for _, want := range []string{
		"warning: headgate.yaml:3:1: doubtful\n",
		"warning: there is no interface eth1; it is attached to when it comes\n",
		"warning: eth2 is not attached to: another XDP program is attached\n",
	} {
		if !strings.Contains(c.err.String(), want) {
			t.Errorf("no %q in %q", want, c.err.String())
		}
	}
	if strings.Contains(c.err.String(), "eth0") || !strings.Contains(c.out.String(), "read ") {
		t.Errorf("printed %q, and %q", c.out.String(), c.err.String())
	}
}

// Who calls a verb wrongly is told so, before the agent is asked.
func TestAgentUsage(t *testing.T) {
	for args, want := range map[string]string{
		"agent x":                               "agent takes no arguments",
		"agent -o xml":                          `output "xml": use table or json`,
		"agent --socket http://localhost":       "asks for a token",
		"agent --socket https://localhost":      "use the path of its socket",
		"zone set":                              "name one zone, not 0",
		"zone set a":                            "give one of --rate and --concurrent",
		"zone set a --rate 1r/s --concurrent 1": "give one of --rate and --concurrent",
		"zone set a --concurrent 0":             "use 1 or more",
		"zone list":                             `unknown command "list"`,
		"keys":                                  "name one zone, not 0",
		"keys a -n 0":                           "limit 0: use 1 to 1000",
		"offenders -n 1001":                     "limit 1001: use 1 to 1000",
		"peek a":                                "name a zone, and each part of a key of it",
		"reset":                                 "name a zone, and each part of a key of it",
		"report":                                "name at least one address or prefix",
		"report x":                              `prefix "x"`,
		"report ::1 --count 0":                  "count 0: use 1 or more",
		"events --kind x":                       `kind "x": use refused, dropped`,
		"events --kind refused --backlog":       "leave it out",
	} {
		a := &agentfake.Agent{}
		c := newAgentConsole(t, a)
		if code := c.run(t, strings.Fields(args)...); code != exitUsage || !strings.Contains(c.err.String(), want) || len(a.Calls()) > 0 {
			t.Errorf("%s: exit %d, %q, %s; want %q", args, code, c.err.String(), a.Calls(), want)
		}
	}
}

// Without an agent each verb says how to have one, and where it looked.
func TestNoAgent(t *testing.T) {
	for _, args := range []string{
		"agent", "zones", "zone set a --rate 1r/s", "keys a", "peek a b", "reset a b", "offenders", "report ::1", "reload", "drain", "events --kind refused",
		"fleet", "block ::1 --fleet", "allow ::1 --fleet", "set ::1 --fleet --rate 1kpps", "unset ::1 --fleet",
	} {
		c := newConsole()
		socket := filepath.Join(t.TempDir(), "none")
		code := c.run(t, append(strings.Fields(args), "--socket", socket)...)
		want := "headgate: no agent answers at " + socket + "; start one whose file has an admin section (headgate run -c FILE), or say where it is with --socket\n"
		if code != exitFailed || c.err.String() != want {
			t.Errorf("%s: exit %d, %q", args, code, c.err.String())
		}
	}
}

// Over TCP the token comes from a file.
func TestAgentOverTCP(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(strings.Repeat("x", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: admin.NewHandler(&agentfake.Agent{}, admin.Options{TokenFile: file})}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	c := newConsole()
	if code := c.run(t, "agent", "--socket", "http://"+l.Addr().String(), "--token-file", file); code != exitDone {
		t.Errorf("exit %d, %s", code, c.err.String())
	}
}

// What the agent tells is shown as it comes, and ends by itself if asked to.
func TestEventsOfAnAgent(t *testing.T) {
	a := &agentfake.Agent{Listening: make(chan struct{})}
	c := newAgentConsole(t, a)
	tell := func() {
		<-a.Listening
		for _, k := range []event.Kind{event.Refused, event.HandedDown, event.Refused} {
			a.Bus.Publish(event.Event{Time: testNow(), Kind: k, Zone: "perip"})
		}
	}
	socket := c.getenv("HEADGATE_SOCKET")
	go tell()
	if code := c.run(t, "events", "--socket", socket, "--count", "3"); code != exitDone || strings.Count(c.out.String(), "zone perip\n") != 3 {
		t.Errorf("exit %d, %s, %s", code, c.out.String(), c.err.String())
	}
	c.out.Reset()
	go tell()
	code := c.run(t, "events", "--kind", "handdown,adapted", "--count", "1", "-o", "json")
	if want := `{"time":"2026-03-01T12:00:00Z","kind":"handdown","zone":"perip"}` + "\n"; code != exitDone || c.out.String() != want {
		t.Errorf("exit %d, %s, %s", code, c.out.String(), c.err.String())
	}
	c.out.Reset()
	go func() { <-a.Listening }()
	if code := c.run(t, "events", "--socket", socket, "--for", "1ms"); code != exitDone || c.err.Len() > 0 {
		t.Errorf("time is over: exit %d, %s", code, c.err.String())
	}
}

// status says that an agent runs, and nothing where none does.
func TestRunningAgent(t *testing.T) {
	c := newAgentConsole(t, &agentfake.Agent{})
	if got := c.runningAgent(t.Context()); got == nil || got.PID != 812 || got.Uptime != 5400 {
		t.Errorf("%+v", got)
	}
	c.getenv = environment(map[string]string{"HEADGATE_SOCKET": filepath.Join(t.TempDir(), "none")})
	if got := c.runningAgent(t.Context()); got != nil {
		t.Errorf("%+v", got)
	}
	c.getenv = environment(map[string]string{"HEADGATE_SOCKET": "http://localhost"})
	if got := c.runningAgent(t.Context()); got != nil {
		t.Errorf("%+v", got)
	}
}

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/test/agentfake"
	"github.com/headgate/headgate/userspace/admin"
)

// newFleetConsole is a console in an SSH session from an address, whose commands ask a, and of which no instance is found.
func newFleetConsole(t *testing.T, a *agentfake.Agent, peer string) *console {
	t.Helper()
	c := newConsole()
	all := map[string]string{"HEADGATE_SOCKET": startAgent(t, a), "HEADGATE_PIN": filepath.Join(t.TempDir(), "none")}
	if peer != "" {
		all["SSH_CONNECTION"] = peer + " 50000 192.0.2.1 22"
	}
	c.getenv = environment(all)
	return c
}

// Verbs with --fleet ask the agent, which publishes, and touch nothing by themselves; twice does what once does.
func TestFleetVerbs(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("198.51.100.0/24 # scans\n2001:db8::/32\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args   string
		out    string // the table, or its begin
		json   string // a part of the JSON, without spaces
		called []string
	}{
		{"fleet", "MACHINE  VERSION", `"self":"web-1","members":[{"name":"web-1"`, nil},
		{"fleet rules", "PREFIX           ACTION  LIMIT  ", `"by":"web-2","person":true,"reason":"scans","in_force":false`, nil},
		{
			"block 203.0.113.7 --fleet", "blocked 203.0.113.7/32 on all machines\n", `"action":"block","prefixes":["203.0.113.7/32"],"changed":1`,
			[]string{`fleet block 203.0.113.7/32 none/0 none/0 for 0s ""`},
		},
		{
			"block --fleet --for 90s --file " + list, "blocked 198.51.100.0/24, 2001:db8::/32 on all machines for 1m30s\n", `"changed":2`,
			[]string{`fleet block 198.51.100.0/24 none/0 none/0 for 1m30s ""`, `fleet block 2001:db8::/32 none/0 none/0 for 1m30s ""`},
		},
		{
			"allow 203.0.113.7 --fleet --for 1h", "allowed 203.0.113.7/32 on all machines for 1h\n", `"action":"allow"`,
			[]string{`fleet allow 203.0.113.7/32 none/0 none/0 for 1h0m0s ""`},
		},
		{
			"set 203.0.113.0/24 --fleet --rate 100pps --bandwidth 10Mbit/s --bandwidth-burst 1MB", "limited 203.0.113.0/24 to 100pps, burst 100 and 10Mbit/s, burst 1MB on all machines\n",
			`"action":"limit"`, []string{`fleet limit 203.0.113.0/24 100pps/100 10Mbit/s/1000000 for 0s ""`},
		},
		{"unset 203.0.113.7 203.0.113.8 --fleet", "unset 203.0.113.7/32 on all machines\n", `"changed":1`, []string{"fleet unset [203.0.113.7/32 203.0.113.8/32]"}},
		{"block --fleet --file /dev/null", "nothing to change\n", `"changed":0`, nil},
		{"unset --fleet --file /dev/null", "nothing to change\n", `"changed":0`, nil},
	}
	for _, tt := range tests {
		a := &agentfake.Agent{}
		c := newFleetConsole(t, a, "")
		if code := c.run(t, strings.Fields(tt.args)...); code != exitDone || !strings.HasPrefix(c.out.String(), tt.out) || c.err.Len() > 0 {
			t.Errorf("%s: exit %d, %q, %q; want %q", tt.args, code, c.out.String(), c.err.String(), tt.out)
		}
		c.out.Reset()
		code := c.run(t, append(strings.Fields(tt.args), "-o", "json")...)
		text := strings.NewReplacer(" ", "", "\n", "").Replace(c.out.String())
		if code != exitDone || !strings.Contains(text, tt.json) || !json.Valid(c.out.Bytes()) {
			t.Errorf("%s as JSON: exit %d, %q, %q; want %q", tt.args, code, c.out.String(), c.err.String(), tt.json)
		}
		if diff := cmp.Diff(append(tt.called, tt.called...), a.Calls()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, diff)
		}
	}
}

// Of what is published and not in force on this machine it is said why.
func TestFleetSpared(t *testing.T) {
	c := newFleetConsole(t, &agentfake.Agent{}, "")
	code := c.run(t, strings.Fields("block 203.0.113.7 192.0.2.7 192.0.2.8 192.0.2.9 192.0.2.10 192.0.2.11 --fleet")...)
	const begin, reason = "headgate: note: ", " on this machine: an allow rule for 192.0.2.0/24 (config)\n"
	want := begin + "not in force for 192.0.2.7/32" + reason + begin + "not in force for 192.0.2.8/32" + reason +
		begin + "not in force for 192.0.2.9/32" + reason + begin + "nor for 2 more; `headgate fleet rules` says why\n"
	if code != exitDone || c.err.String() != want || c.out.String() != "blocked 6 prefixes on all machines\n" {
		t.Errorf("exit %d, %q, %q; want %q", code, c.out.String(), c.err.String(), want)
	}
}

// awayError is of Redis, in its own words.
type awayError struct{ error }

func (awayError) Is(target error) bool { return target == admin.ErrAway }

// What the agent refuses is a failure with its words, and it is said that nothing was done.
func TestFleetRefusals(t *testing.T) {
	away := awayError{errors.New("it is not known that the rules were published: redis answered: NOAUTH Authentication required")}
	many := admin.Refusal{Err: errors.New("too many rules in a minute: 3 fit now, and all in 40s")}
	for _, tt := range []struct {
		agent *agentfake.Agent
		args  string
		want  string
	}{
		{&agentfake.Agent{Off: true}, "fleet", "a fleet is not configured; add a redis section"},
		{&agentfake.Agent{Off: true}, "block ::1 --fleet", "nothing was published: a fleet is not configured; add a redis section"},
		{&agentfake.Agent{FleetError: away}, "block ::1 --fleet", away.Error()},
		{&agentfake.Agent{FleetError: away}, "set ::1 --fleet --rate 1kpps", away.Error()},
		{&agentfake.Agent{FleetError: away}, "unset ::1 --fleet", away.Error()},
		{&agentfake.Agent{FleetError: many}, "allow ::1 --fleet", "nothing was published: too many rules in a minute: 3 fit now, and all in 40s"},
		{
			&agentfake.Agent{FleetError: admin.Refusal{Err: errors.New("203.0.113.7/32 is protected here: an allow rule for 203.0.113.0/24 (config)")}}, "block 203.0.113.7 --fleet",
			"nothing was published: 203.0.113.7/32 is protected here: an allow rule for 203.0.113.0/24 (config)",
		},
	} {
		c := newFleetConsole(t, tt.agent, "")
		if code := c.run(t, strings.Fields(tt.args)...); code != exitFailed || c.err.String() != "headgate: "+tt.want+"\n" || c.out.Len() > 0 {
			t.Errorf("%s: exit %d, %q, %q; want %q", tt.args, code, c.out.String(), c.err.String(), tt.want)
		}
	}
}

// Who uses --fleet wrongly is told so before anybody is asked.
func TestFleetUsage(t *testing.T) {
	for args, want := range map[string]string{
		"fleet x":                                "fleet takes no arguments",
		"block --fleet":                          "name at least one address or prefix",
		"block x --fleet":                        `prefix "x"`,
		"block ::1 --fleet --for 0s":             "use a duration above 0",
		"block ::1 --fleet -o xml":               `output "xml": use table or json`,
		"block ::1 --socket /s":                  "--socket says where the agent is, which is asked with --fleet only",
		"unset ::1 --token-file /t":              "--token-file says where the agent is, which is asked with --fleet only",
		"set ::1 --rate 1pps --socket /s":        "asked with --fleet only",
		"set ::1 --fleet":                        "set what?",
		"set ::1 --fleet --rate off":             "a limit of the fleet needs a rate or a bandwidth; `headgate unset ::1/128 --fleet` takes one back",
		"set ::1 --fleet --burst 3":              "--burst needs a rate",
		"set ::1 --fleet --rate 1pps --policy x": "a limit of the fleet is of the default policy",
		"set default --fleet --rate 1pps":        "the default limit takes no --fleet",
		"unset default --fleet":                  "the default limit is each machine's own",
	} {
		a := &agentfake.Agent{}
		c := newFleetConsole(t, a, "")
		if code := c.run(t, strings.Fields(args)...); code != exitUsage || !strings.Contains(c.err.String(), want) || len(a.Calls()) > 0 {
			t.Errorf("%s: exit %d, %q, %s; want %q", args, code, c.err.String(), a.Calls(), want)
		}
	}
}

// Who would cut himself off, on machines that are not this one, has to force it; an allow rule needs no force.
func TestFleetLockout(t *testing.T) {
	for args, called := range map[string]int{
		"block 203.0.113.0/24 --fleet":                0,
		"set 203.0.113.9 --fleet --rate 1pps":         0,
		"block 203.0.113.0/24 --fleet --force":        1,
		"set 203.0.113.9 --fleet --rate 1pps --force": 1,
		"block 203.0.113.8 --fleet":                   1,
		"set 203.0.113.9 --fleet --rate 1kpps":        1,
		"allow 203.0.113.9 --fleet":                   1,
	} {
		a := &agentfake.Agent{}
		c := newFleetConsole(t, a, "203.0.113.9")
		code := c.run(t, strings.Fields(args)...)
		if len(a.Calls()) != called || (code == exitDone) != (called > 0) {
			t.Errorf("%s: exit %d, %q, %s", args, code, c.err.String(), a.Calls())
		}
		if called == 0 && !strings.Contains(c.err.String(), "would cut off 203.0.113.9, this SSH session; nothing was changed, and --force does it all the same") {
			t.Errorf("%s: %q", args, c.err.String())
		}
	}
}

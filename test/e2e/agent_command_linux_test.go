package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// decode runs a command and decodes its JSON.
func decode[V any](s *site, args ...string) (v V) {
	s.tb.Helper()
	r := s.must(append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
		s.tb.Fatalf("headgate %s: %v in %s", strings.Join(args, " "), err, r.stdout)
	}
	return v
}

// The parts of the JSON contract that these tests read.
type (
	zoneStateJSON struct {
		Name, Rate               string
		Changed                  bool
		Allowed, Refused, Delays uint64
	}
	keyStateJSON struct {
		Key              string
		Limit, Remaining uint64
	}
	offenderJSON struct {
		Source, Action    string
		Offences, Strikes int
	}
)

// Each command shows and changes what the agent does.
func TestAgentCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	a := s.start(both("1", "") + "handdown: {after: 5, within: 10s, action: block, for: 1h}\n")
	client := s.browser(modest)
	client.wantStatuses(4, 2)

	if got := decode[[]zoneStateJSON](s, "zones"); fmt.Sprint(got) != "[{perip 1r/h false 2 2 0}]" {
		t.Errorf("zones are %+v", got)
	}
	if got := decode[[]keyStateJSON](s, "peek", "perip", modest); len(got) != 1 || got[0].Limit != 2 || got[0].Remaining != 0 {
		t.Errorf("the key is %+v", got)
	}
	if got := decode[[]keyStateJSON](s, "keys", "perip"); len(got) != 1 || got[0].Key != modest {
		t.Errorf("keys are %+v", got)
	}
	if got := decode[[]offenderJSON](s, "offenders"); fmt.Sprint(got) != fmt.Sprintf("[{%s/32  2 0}]", modest) {
		t.Errorf("offenders are %+v", got)
	}
	s.must("reset", "perip", modest)
	client.wantStatuses(3, 2)

	s.must("zone", "set", "perip", "--rate", "1000000r/s")
	client.wantStatuses(20, 20)
	if got := decode[[]zoneStateJSON](s, "zones"); len(got) != 1 || got[0].Rate != "1000000r/s" || !got[0].Changed {
		t.Errorf("zones are %+v", got)
	}
	s.must("reload")
	if got := decode[[]zoneStateJSON](s, "zones"); len(got) != 1 || got[0].Rate != "1r/h" || got[0].Changed {
		t.Errorf("after a reload zones are %+v", got)
	}
	s.must("report", flooder, "--count", "5")
	if got := decode[[]offenderJSON](s, "offenders", "-n", "1"); fmt.Sprint(got) != fmt.Sprintf("[{%s/32 block 0 1}]", flooder) {
		t.Errorf("offenders are %+v", got)
	}
	if r := s.must("agent"); !strings.Contains(r.stdout, itoa(a.Process.Pid)) {
		t.Errorf("agent says %s", r.stdout)
	}
	for _, args := range [][]string{{"peek", "none", modest}, {"zone", "set", "none", "--rate", "1r/s"}, {"reset", "perip", "nobody"}} {
		if r := s.command(args...).run(); r.code == 0 || len(r.errorLines()) != 1 {
			t.Errorf("headgate %q: exit %d: %s", args, r.code, r.stderr)
		}
	}
	s.must("drain")
	if r := a.wait(); r.code != 0 {
		t.Errorf("exit %d", r.code)
	}
	s.command("zones").run().wantError(t, 1, "no agent answers")
}

// `headgate events` shows what the agent tells, drops in the kernel beside what HTTP has refused.
func TestAgentEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	a := s.start(strict)
	c := s.command("events", "--socket", s.path("admin.sock"), "-o", "json")
	ready := openPipe(t, &c.Stdout)
	c.start()
	await(t, "the listener", func() bool { // told of what happens from now on
		s.must("reload")
		return strings.Contains(c.Stdout.(*transcript).String(), `"reloaded"`)
	})
	s.browser(flooder).wantStatuses(4, 1)
	ready(`"refused"`)
	ready(`"handdown"`)
	s.awaitDropped()
	s.wantPassed(flooder, 20, 0)
	ready(`"dropped"`)
	if code := a.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	ready(`"draining"`)
	c.wait()
	for line := range strings.Lines(c.Stdout.(*transcript).String()) {
		var e struct{ Kind, Time, Interface string }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Kind == "" || e.Time == "" {
			t.Errorf("%q: %v", line, err)
		}
		if e.Kind == "dropped" && e.Interface != s.pair.Far.Name {
			t.Errorf("%q: a packet was dropped at %q, want %q", line, e.Interface, s.pair.Far.Name)
		}
	}
}

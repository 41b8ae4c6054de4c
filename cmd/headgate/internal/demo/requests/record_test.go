package requests

import (
	"testing"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/part"
	"github.com/headgate/headgate/cmd/headgate/internal/demo/theory"
	"github.com/headgate/headgate/userspace/config"
)

const (
	hour        = int64(time.Hour)
	millisecond = int64(time.Millisecond)
)

// newRecord returns a record of a client that has been idle.
func newRecord(t *testing.T, who int) *record {
	t.Helper()
	p, err := params()
	if err != nil {
		t.Fatal(err)
	}
	return &record{member: cast()[who], theory: theory.New(p, hour)}
}

// flooded is a flood: 21 requests pass at once, and one more after 10 ms; then it is cut off.
func flooded(t *testing.T) *record {
	t.Helper()
	r := newRecord(t, flooder)
	at := func(ms int64) int64 { return hour + ms*millisecond }
	r.note(part.Seen{Start: at(0), End: at(1), Passed: 16})
	r.note(part.Seen{Start: at(2), End: at(3), Passed: 5, Refused: 11})
	r.note(part.Seen{Start: at(11), End: at(12), Passed: 1, Refused: 11, Cut: 4, CutSent: at(11) + 5})
	r.note(part.Seen{Start: at(400), End: at(620), Cut: 12, CutSent: at(401)})
	r.note(part.Seen{Start: at(620), End: at(630), Knocks: 400})
	return r
}

// visited is a client whose requests took 1 ms, 2 ms, and so on.
func visited(t *testing.T, visits int) *record {
	t.Helper()
	r := newRecord(t, visitor)
	for n := range visits {
		start := hour + int64(n)*20*millisecond
		took := int64(n+1) * millisecond
		r.note(part.Seen{Start: start, End: start + took, Passed: 1, Took: took})
	}
	return r
}

func TestRecord(t *testing.T) {
	r := flooded(t)
	if r.passed != 22 || r.refused != 22 || r.unanswered() != 416 || r.sent() != 460 {
		t.Errorf("passed %d, refused %d, unanswered %d of %d", r.passed, r.refused, r.unanswered(), r.sent())
	}
	if want := hour + 11*millisecond; r.offended != want || r.cutSent != want+5 || r.cutSeen != want+millisecond {
		t.Errorf("offended at %d, cut off at %d, which was seen at %d; want it about %d", r.offended, r.cutSent, r.cutSeen, want)
	}
	c := r.check("handed down", 22)
	if c.Theory != (theory.Range{Least: 21, Most: 22}) || !c.OK || c.Latency != nil {
		t.Errorf("check %+v", c)
	}
	if want := "up to 21 at once, 100/s for 0.012 s"; c.Why != want {
		t.Errorf("why is %q, want %q", c.Why, want)
	}
}

func TestRecordOfVisitor(t *testing.T) {
	c := visited(t, 100).check("refused", 100)
	if c.Theory != theory.Exactly(100) || !c.OK || c.Why != "never over its limit" {
		t.Errorf("check %+v", c)
	}
	if c.Latency == nil || *c.Latency != (Latency{0.05, 0.099, 0.1}) {
		t.Errorf("latency %+v, want 50, 99 and 100 ms", c.Latency)
	}
}

func TestWhyOfNothing(t *testing.T) {
	if c := newRecord(t, flooder).check("nobody floods", 0); c.Why != "sends nothing" || !c.OK {
		t.Errorf("check %+v", c)
	}
}

func TestLatencyOfFew(t *testing.T) {
	if l := latencyOf([]time.Duration{time.Second}); *l != (Latency{1, 1, 1}) {
		t.Errorf("one: %+v", l)
	}
	if l := latencyOf([]time.Duration{3 * time.Second, time.Second, 2 * time.Second}); *l != (Latency{2, 3, 3}) {
		t.Errorf("three: %+v", l)
	}
	if l := latencyOf(nil); l != nil {
		t.Errorf("none: %+v", l)
	}
}

// Each of the parties can be the one that does not agree.
func TestJudge(t *testing.T) {
	right := Check{Passed: 22, Theory: theory.Range{Least: 22, Most: 23}, Backend: 22}
	for _, tt := range []struct {
		name   string
		change func(*Check)
		want   bool
	}{
		{"all agree", func(*Check) {}, true},
		{"more than theory", func(c *Check) { c.Theory = theory.Range{Least: 20, Most: 21} }, false},
		{"less than theory", func(c *Check) { c.Theory = theory.Exactly(23) }, false},
		{"the backend counted another number", func(c *Check) { c.Backend = 23 }, false},
		{"a connection that should not be", func(c *Check) { c.Entered = 1 }, false},
	} {
		c := right
		tt.change(&c)
		if c.judge(); c.OK != tt.want {
			t.Errorf("%s: ok %t, want %t", tt.name, c.OK, tt.want)
		}
	}
}

// What the agent is given is right, and says what theory is about.
func TestFile(t *testing.T) {
	for _, second := range []time.Duration{time.Second, 100 * time.Millisecond} {
		s := newScript(second)
		f, err := config.Parse(configuration, []byte(file("/run/admin.sock")+s.handDown()+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if h := f.HandDown; h.After != offences || h.Within != within || h.For != s.block || h.Action != config.Block {
			t.Errorf("hand-down %+v", h)
		}
		if use := f.HTTP.Rules[0].Limits[0]; use.Burst != burst || f.HTTP.Zones[use.Zone].Name != zone {
			t.Errorf("limit %+v", use)
		}
	}
}

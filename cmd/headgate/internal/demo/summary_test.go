package demo

import (
	"bytes"
	"testing"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/test/golden"
)

// played is what a demo of two phases came to. Of a flood 100 packets at once, and 5 more, passed.
func played(t *testing.T) (records []*record, phases []phase) {
	t.Helper()
	phases = script(time.Second)[:2]
	p := params(t, 1000, 100)
	for _, s := range cast() {
		r := &record{source: s, theory: newTheory(p, hour)}
		sent, through := 10, uint64(10)
		if s.every == 0 {
			sent, through = 300, 105
		}
		r.note(sent, sent, sent, through, window{hour, hour + 5*millisecond})
		records = append(records, r)
	}
	return records, phases
}

func summaryOf(t *testing.T, records []*record, phases []phase) Summary {
	t.Helper()
	s := Summary{Mode: "native"}
	counted := Counted{}
	for _, r := range records {
		free := record{source: r.source, sent: r.sent, through: r.sent}
		s.Checks = append(s.Checks, free.check(&phases[0], "1000/s", nil))
	}
	for _, r := range records {
		c := Counted{Pass: r.through, Drop: r.sent - r.through}
		counted.Pass += c.Pass
		counted.Drop += c.Drop
		s.Checks = append(s.Checks, r.check(&phases[1], "1000/s", &c))
	}
	s.conclude(12345*time.Millisecond, counted)
	return s
}

func TestSummary(t *testing.T) {
	records, phases := played(t)
	good := summaryOf(t, records, phases)
	if !good.OK || good.Off() != 0 {
		t.Errorf("ok %t, %d off, want all right", good.OK, good.Off())
	}
	records[1].through = 250
	bad := summaryOf(t, records, phases)
	if bad.OK || bad.Off() != 1 {
		t.Errorf("ok %t, %d off, want 1", bad.OK, bad.Off())
	}
	for name, s := range map[string]Summary{"summary": good, "summary_off": bad} {
		for _, f := range []render.Format{render.Table, render.JSON} {
			var b bytes.Buffer
			if err := render.Write(&b, f, s); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, name+"."+f.String(), b.Bytes())
		}
	}
}

// Each of the three parties can be the one that does not agree.
func TestJudge(t *testing.T) {
	right := Check{Sent: 300, Through: 105, Lost: 195, Theory: Range{105, 106}, Headgate: &Counted{105, 195}}
	tests := []struct {
		name   string
		change func(*Check)
		want   bool
	}{
		{"all agree", func(*Check) {}, true},
		{"headgate was not there", func(c *Check) { c.Headgate = nil }, true},
		{"the upper bound", func(c *Check) { c.Theory = Range{104, 105} }, true},
		{"more than theory", func(c *Check) { c.Theory = Range{103, 104} }, false},
		{"less than theory", func(c *Check) { c.Theory = Range{106, 107} }, false},
		{"headgate passed another number", func(c *Check) { c.Headgate = &Counted{106, 195} }, false},
		{"headgate dropped another number", func(c *Check) { c.Headgate = &Counted{105, 194} }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := right
			tt.change(&c)
			if c.judge(); c.OK != tt.want {
				t.Errorf("ok %t, want %t", c.OK, tt.want)
			}
		})
	}
}

func TestTotalsJudge(t *testing.T) {
	s := Summary{Checks: []Check{{Sent: 3, Through: 2, Lost: 1, Headgate: &Counted{2, 1}, OK: true}}}
	s.conclude(0, Counted{2, 2})
	if s.OK || s.Totals.OK {
		t.Error("a packet that headgate dropped from nowhere is all right")
	}
}

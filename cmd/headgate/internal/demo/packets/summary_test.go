package packets

import (
	"bytes"
	"testing"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/theory"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/test/golden"
)

// played is what a demo of two phases came to. Of a flood 100 packets at once, and 5 more, passed.
func played(t *testing.T) (records []*record, phases []phase) {
	t.Helper()
	phases = script(time.Second)[:2]
	limit, err := standard().parse()
	if err != nil {
		t.Fatal(err)
	}
	p, err := limit.Compile()
	if err != nil {
		t.Fatal(err)
	}
	const hour, millisecond = int64(time.Hour), int64(time.Millisecond)
	for _, s := range cast() {
		r := &record{source: s, theory: theory.New(p.Packets, hour)}
		sent, through := 10, uint64(10)
		if s.every == 0 {
			sent, through = 300, 105
		}
		r.note(sent, sent, sent, through, theory.Window{Start: hour, End: hour + 5*millisecond})
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
	s.conclude(counted)
	return s
}

func TestSummary(t *testing.T) {
	records, phases := played(t)
	good := summaryOf(t, records, phases)
	if good.Off() != 0 || good.Lines() != 9 {
		t.Errorf("%d of %d off, want 0 of 9", good.Off(), good.Lines())
	}
	records[1].through = 250
	bad := summaryOf(t, records, phases)
	if bad.Off() != 1 {
		t.Errorf("%d off, want 1", bad.Off())
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
	right := Check{Sent: 300, Through: 105, Lost: 195, Theory: theory.Range{Least: 105, Most: 106}, Headgate: &Counted{105, 195}}
	tests := []struct {
		name   string
		change func(*Check)
		want   bool
	}{
		{"all agree", func(*Check) {}, true},
		{"headgate was not there", func(c *Check) { c.Headgate = nil }, true},
		{"the upper bound", func(c *Check) { c.Theory = theory.Range{Least: 104, Most: 105} }, true},
		{"more than theory", func(c *Check) { c.Theory = theory.Range{Least: 103, Most: 104} }, false},
		{"less than theory", func(c *Check) { c.Theory = theory.Range{Least: 106, Most: 107} }, false},
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
	s.conclude(Counted{2, 2})
	if s.Off() != 1 || s.Totals.OK {
		t.Error("a packet that headgate dropped from nowhere is all right")
	}
}

func TestPicture(t *testing.T) {
	records, _ := played(t)
	var b bytes.Buffer
	if err := render.Write(&b, render.Table, picture(records)); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "picture", b.Bytes())
}

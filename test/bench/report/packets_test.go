package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func example() *Packets {
	return &Packets{
		Host: Host{
			Kernel: "Linux 6.18.0", CPU: "Example <1> & Co", CPUs: 2, Go: "go1.26",
			Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		},
		Rounds: 30, Repeat: 400_000,
		Cases: []Case{
			{Name: Noop, Baseline: true, Min: 6, Median: 6.25, Net: 6, Ratio: 1},
			{Name: "one source, under its limit, 10,000 rules", Min: 124.04, Median: 130, Net: 120, Ratio: 20},
		},
		Flows: []Flow{
			{Name: "noop (drop)", Packets: 7_234_000, Median: 6e6, Ratio: 1},
			{Name: "over", Packets: 3_617_000, Median: 3e6, Ratio: 0.5},
		},
		Verdicts: []Verdict{
			AtMost("loading", 0.25, 2, "target", "s"),
			AtMost("one source", 60, 59.5, "noop + 2*(clock-noop)", "ns"),
		},
	}
}

func TestWriteTable(t *testing.T) {
	const want = `kernel  Linux 6.18.0
CPU     2 x Example <1> & Co
Go      go1.26
date    2026-01-02T03:04:05Z
method  30 rounds, each of 400000 packets per program

ns per packet                                   min    median       net   ratio
noop (drop)                                     6.0       6.2       6.0    1.00
one source, under its limit, 10,000 rules     124.0     130.0     120.0   20.00

Mpps over a veth pair      most    median   ratio
noop (drop)               7.234     6.000    1.00
over                      3.617     3.000    0.50

loading: 0.25 s, bound target = 2.00 s: met
one source: 60.00 ns, bound noop + 2*(clock-noop) = 59.50 ns: not met
`
	var b strings.Builder
	if err := example().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestWriteTableWithoutFlows(t *testing.T) {
	r := example()
	r.Flows = nil
	var b strings.Builder
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "veth") {
		t.Errorf("table has a part about flows:\n%s", b.String())
	}
}

func TestAtMost(t *testing.T) {
	for value, want := range map[float64]bool{1.99: true, 2: true, 2.01: false} {
		if got := AtMost("", value, 2, "", "").Met; got != want {
			t.Errorf("%v of at most 2: met = %v, want %v", value, got, want)
		}
	}
}

func TestWriteJSON(t *testing.T) {
	var b strings.Builder
	if err := example().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got Packets
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*example(), got); diff != "" {
		t.Errorf("after writing and reading (-want +got):\n%s", diff)
	}
	for _, name := range []string{`"min_ns": 6,`, `"packets_per_second": 7234000,`, `"met": false`} {
		if !strings.Contains(b.String(), name) {
			t.Errorf("no %s in\n%s", name, b.String())
		}
	}
}

// element is what a test looks at of an XML element.
type element struct {
	Class string  `xml:"class,attr"`
	X     float64 `xml:"x,attr"`
	X1    float64 `xml:"x1,attr"`
	Width float64 `xml:"width,attr"`
	Text  string  `xml:",chardata"`
}

type image struct {
	Width float64   `xml:"width,attr"`
	Rects []element `xml:"rect"`
	Lines []element `xml:"line"`
	Texts []element `xml:"text"`
}

func draw(t *testing.T, r interface{ WriteSVG(io.Writer) error }) image {
	t.Helper()
	var b strings.Builder
	if err := r.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	var i image
	if err := xml.Unmarshal([]byte(b.String()), &i); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	return i
}

func TestWriteSVG(t *testing.T) {
	i := draw(t, example())
	if len(i.Rects) != 3 || len(i.Lines) != 1 {
		t.Fatalf("%d rectangles and %d lines, want a card with two bars and one line", len(i.Rects), len(i.Lines))
	}
	noop, headgate, bound := i.Rects[1], i.Rects[2], i.Lines[0]
	if noop.Class != "baseline" || headgate.Class != "headgate" {
		t.Errorf("classes %q and %q", noop.Class, headgate.Class)
	}
	if noop.Width != barsWidth/20 || headgate.Width != barsWidth {
		t.Errorf("bars %v and %v wide, want %v and %v", noop.Width, headgate.Width, barsWidth/20, barsWidth)
	}
	if got, want := bound.X1-noop.X, 59.5/120*barsWidth; got < want-0.1 || got > want+0.1 {
		t.Errorf("bound at %v, want %v", got, want)
	}
	for _, text := range i.Texts {
		if text.X < 0 || text.X > i.Width {
			t.Errorf("text %q at %v, outside of the plot", text.Text, text.X)
		}
	}
	if want := "Linux 6.18.0, Example <1> & Co, 2026-01-02"; i.Texts[1].Text != want {
		t.Errorf("second text %q, want %q", i.Texts[1].Text, want)
	}
}

func TestWriteSVGEdges(t *testing.T) {
	if i := draw(t, &Packets{}); len(i.Rects) != 1 || len(i.Lines) != 0 {
		t.Errorf("empty report: %d rectangles and %d lines, want only the card", len(i.Rects), len(i.Lines))
	}
	below := &Packets{Cases: []Case{{Name: "below 0", Net: -1}}}
	if i := draw(t, below); i.Rects[1].Width != 0 {
		t.Errorf("bar of -1 ns is %v wide, want 0", i.Rects[1].Width)
	}
}

// full is a file on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteErrors(t *testing.T) {
	r := example()
	for name, write := range map[string]func(io.Writer) error{
		"table": r.WriteTable, "JSON": r.WriteJSON, "SVG": r.WriteSVG,
	} {
		if err := write(full{}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s: got error %v, want %v", name, err, io.ErrShortWrite)
		}
	}
}

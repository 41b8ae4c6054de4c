package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scale returns a run of which the figures are known.
func scale() *Scale {
	noop, under := CPUSample{Name: NoopOnCPUs}, CPUSample{Name: "one source, under"}
	for _, two := range []float64{20e6, 21e6, 19e6} {
		noop.Add(10e6, two)
		under.Add(16e6, two+4e6)
	}
	return &Scale{
		Host: example().Host, Rounds: 3, Repeat: 400_000, Together: 400 * time.Millisecond, Line: 123.44,
		Sizes: Sizes([]float64{20, 19, 21}, []SizeSample{
			{Sources: 1000, Buckets: 1024, Under: []float64{90, 80}, Over: []float64{79, 95}},
			{Sources: 4_000_000, Buckets: 1 << 22, Under: []float64{500, 519}, Over: []float64{469, 480}},
		}),
		CPUs: CPUs([]CPUSample{noop, under}),
	}
}

func TestWriteScaleTable(t *testing.T) {
	const want = `kernel  Linux 6.18.0
CPU     2 x Example <1> & Co
Go      go1.26
date    2026-01-02T03:04:05Z
method  3 rounds, each of 400,000 packets per number of sources, and of 400ms on CPUs

ns per packet    room for     under      over
1,000               1,024      61.0      60.0
4,000,000       4,194,304     481.0     450.0

Mpps                  1 CPU    2 CPUs   ratio 16, estimate 64, estimate
noop (drop)           10.00     20.00    2.00          160          640
one source, under     16.00     24.00    1.50           24           24

a CPU sees what the other wrote after 123.4 ns
`
	var b strings.Builder
	if err := scale().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestWriteScaleJSON(t *testing.T) {
	var b strings.Builder
	if err := scale().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got Scale
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*scale(), got); diff != "" {
		t.Errorf("after writing and reading (-want +got):\n%s", diff)
	}
}

// TestWriteScaleSVG checks where the points are: the axis of sources is logarithmic, and the plot ends at 500 ns.
func TestWriteScaleSVG(t *testing.T) {
	var b strings.Builder
	if err := scale().WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	var i struct {
		Lines []struct {
			Points string `xml:"points,attr"`
		} `xml:"polyline"`
	}
	if err := xml.Unmarshal([]byte(b.String()), &i); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	var got []string
	for _, line := range i.Lines {
		got = append(got, line.Points)
	}
	want := []string{"60.0,294.7 540.0,93.1", "60.0,295.2 540.0,108.0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	for _, label := range []string{">1 k<", ">4 M<", ">500<", ">under the limit<", ">over the limit<"} {
		if !strings.Contains(b.String(), label) {
			t.Errorf("no %s in\n%s", label, b.String())
		}
	}
}

// That each packet writes one line is known, whatever two threads of one core make of it.
func TestEstimates(t *testing.T) {
	for _, tt := range []struct {
		oneLine    bool
		lines      bool
		two        float64
		on16, on64 float64
	}{
		{false, false, 20, 160, 640}, {false, false, 18.5, 160, 640}, {false, false, 18, 18, 18},
		{true, false, 20, 20, 20}, {true, false, 9, 9, 9},
		// Twice the time for half of the packets: three times where no packet finds its line at home.
		{false, true, 10, 16 / 0.2875, 64 / 0.296875}, {false, true, 20, 160, 640}, {false, true, 22, 160, 640},
	} {
		s := CPUSample{OneLine: tt.oneLine, Lines: tt.lines}
		s.Add(10, tt.two)
		if got := CPUs([]CPUSample{s})[0]; math.Abs(got.On16-tt.on16) > 1e-9 || math.Abs(got.On64-tt.on64) > 1e-9 {
			t.Errorf("%+v, want %v and %v", got, tt.on16, tt.on64)
		}
	}
}

func TestCurvesBetween(t *testing.T) {
	c := curves{x: []float64{1000, 10_000, 100_000}}
	for i, want := range []float64{0, curvesWidth / 2, curvesWidth} {
		if got := c.at(i); math.Abs(got-want) > 1e-9 {
			t.Errorf("number %d at %v, want %v", i, got, want)
		}
	}
}

func TestApart(t *testing.T) {
	for _, tt := range [][2][]float64{
		{{}, {}}, {{50, 10}, {50, 10}}, {{10, 12, 5}, {21, 37, 5}}, {{7, 7}, {7, 23}},
	} {
		if got := apart(tt[0]); !slices.Equal(got, tt[1]) {
			t.Errorf("apart(%v) = %v, want %v", tt[0], got, tt[1])
		}
	}
}

func TestNiceAbove(t *testing.T) {
	for value, want := range map[float64]float64{0: 1, 1: 1, 1.1: 2, 3: 5, 5.5: 10, 481: 500, 501: 1000} {
		if got := niceAbove(value); got != want {
			t.Errorf("niceAbove(%v) = %v, want %v", value, got, want)
		}
	}
}

func TestWriteScaleErrors(t *testing.T) {
	r := scale()
	for name, write := range map[string]func(io.Writer) error{
		"table": r.WriteTable, "JSON": r.WriteJSON, "SVG": r.WriteSVG,
	} {
		if err := write(full{}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s: got error %v, want %v", name, err, io.ErrShortWrite)
		}
	}
	if err := (&Scale{}).WriteSVG(io.Discard); err != nil {
		t.Errorf("an empty report: %v", err)
	}
}

package report

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// goodput returns a run of which the figures are known.
func goodput() *Goodput {
	nginx := FrontSample{Name: "nginx"}
	ours := FrontSample{Name: "headgate", Ours: true, HandsDown: true}
	for i := range 3 {
		nginx.Add(FrontNumbers{Quiet: 100, Flooded: float64(50 + i), CPU: 10_000, CPUAnew: 30_000, FloodedP99: 5 * time.Millisecond})
		ours.Add(FrontNumbers{Quiet: 100, Flooded: float64(90 + i), CPU: 700, CPUAnew: 700, Until: 25})
	}
	cost := CostSample{Name: "proxy, refused"}
	cost.Add(CostNumbers{Rate: 80, CPU: 12_000}, CostNumbers{Rate: 100, CPU: 9_000})
	cost.Add(CostNumbers{Rate: 8, CPU: 12_000}, CostNumbers{Rate: 10, CPU: 9_000})
	r := &Goodput{
		Rounds: 3, Fronts: Fronts([]FrontSample{nginx, ours}), Costs: Costs([]CostSample{cost}),
		Wire: MedianWire([]Wire{{Knock: 500}, {Knock: 600}, {Knock: 100}}), Memory: []uint64{1 << 20, 3 << 20, 2 << 20},
		Frames: MedianFrames([]Frames{{SYN: 500, Request: 210}, {SYN: 700, Request: 200}, {SYN: 600, Request: 300}}),
	}
	r.Verdicts = GoodputVerdicts(r)
	return r
}

func TestFrontsAreMedians(t *testing.T) {
	f := goodput().Fronts[1]
	if f.Flooded != 91 || f.Kept != 0.91 || f.Until != 25 || f.CPU != 700 {
		t.Errorf("%+v", f)
	}
}

func TestCostsAreMediansOfRatios(t *testing.T) {
	c := goodput().Costs[0]
	if c.Ratio != 0.8 || c.CPURatio != 0.75 || c.Rate != 44 {
		t.Errorf("%+v", c)
	}
}

func TestGoodputVerdicts(t *testing.T) {
	var got []string
	for _, v := range goodput().Verdicts {
		got = append(got, v.String())
	}
	want := []string{
		"headgate: requests kept in the flood: 0.91 times, bound 0.9 of those without = 0.90 times: met",
		"headgate: CPU time per attempt to connect: 0.70 µs, bound 1/50 of nginx = 0.60 µs: not met",
		"handed down: CPU time per attempt to connect, from a driver: 0.60 µs, bound 1/50 of nginx = 0.60 µs: met",
		"handed down: CPU time per request on a kept connection, from a driver: 0.21 µs, bound 1/50 of nginx = 0.20 µs: not met",
		"proxy, refused: requests a second of CPU time: 0.75 times, bound 0.9 of the bare server's = 0.90 times: not met",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGoodputTable(t *testing.T) {
	var out bytes.Buffer
	if err := goodput().WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"100       0.00         91       0.00    91%", "10.00      30.00", "0.210      0.600", "0.80        9.0       12.0    0.75",
		"memory of the agent: 1.0 MiB after the first round, 2.0 after the last, 3.0 at most"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	empty := &Goodput{}
	if err := empty.WriteTable(&out); err != nil {
		t.Error(err)
	}
}

func TestGoodputSVG(t *testing.T) {
	var out bytes.Buffer
	if err := goodput().WriteSVG(&out); err != nil {
		t.Fatal(err)
	}
	var root struct{ XMLName xml.Name }
	if err := xml.Unmarshal(out.Bytes(), &root); err != nil || root.XMLName.Local != "svg" {
		t.Errorf("no SVG: %v", err)
	}
}

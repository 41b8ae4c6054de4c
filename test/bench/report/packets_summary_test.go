package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCases(t *testing.T) {
	got := Cases([]Sample{
		{Name: Noop, Baseline: true, NS: []float64{10, 8, 12}},
		{Name: SpreadBy, Baseline: true, Spread: true, NS: []float64{9, 13, 11, 10}},
		{Name: "one source", NS: []float64{24, 20}},
		{Name: "256 sources", Spread: true, NS: []float64{25}},
	})
	want := []Case{
		{Name: Noop, Baseline: true, Min: 8, Median: 10, Net: 8, Ratio: 1},
		{Name: SpreadBy, Baseline: true, Min: 9, Median: 10.5, Net: 8, Ratio: 1},
		{Name: "one source", Min: 20, Median: 22, Net: 20, Ratio: 2.5},
		{Name: "256 sources", Min: 25, Median: 25, Net: 24, Ratio: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
}

func TestCasesKeepsSamples(t *testing.T) {
	samples := []Sample{{Name: Noop, NS: []float64{3, 1, 2}}}
	Cases(samples)
	if diff := cmp.Diff([]float64{3, 1, 2}, samples[0].NS); diff != "" {
		t.Errorf("samples changed (-want +got):\n%s", diff)
	}
}

func TestFlows(t *testing.T) {
	got := Flows([]string{"noop", "over"}, [][]float64{{400, 800, 600}, {200, 100, 150}})
	want := []Flow{
		{Name: "noop", Packets: 800, Median: 600, Ratio: 1},
		{Name: "over", Packets: 200, Median: 150, Ratio: 0.25},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flows (-want +got):\n%s", diff)
	}
}

func TestNet(t *testing.T) {
	cases := []Case{{Name: "a", Net: 1}, {Name: "b", Net: 2}}
	for name, want := range map[string]float64{"a": 1, "b": 2, "c": 0} {
		if got := Net(cases, name); got != want {
			t.Errorf("Net(%q) = %v, want %v", name, got, want)
		}
	}
}

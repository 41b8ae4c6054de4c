package main

import (
	"errors"
	"io"
	"net"
	"net/rpc"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/bench/limiters"
	"github.com/headgate/headgate/test/bench/report"
)

// startHere starts a worker in this process.
func startHere(s limiters.Subject) (*process, error) {
	here, there := net.Pipe()
	served := make(chan error, 1)
	go func() {
		err := serve(s.Name, there)
		served <- errors.Join(err, there.Close())
	}()
	return &process{s, rpc.NewClient(here), func() error { return <-served }}, nil
}

func tiny() plan {
	return plan{processes: 2, keys: []int{1, 20}, rounds: 2, calls: 100, flood: 1000, floodOthers: 500, floodMaxKeys: 50}
}

func TestRun(t *testing.T) {
	b := &bench{plan: tiny(), subjects: limiters.Subjects(), start: startHere, progress: io.Discard}
	r, err := b.run()
	if err != nil {
		t.Fatal(err)
	}
	type kind struct {
		keys          int
		path, traffic string
	}
	want := []kind{
		{1, report.Allowed, report.OneKey}, {1, report.Refused, report.OneKey},
		{20, report.Allowed, report.Uniform}, {20, report.Allowed, report.Zipf},
		{20, report.Refused, report.Uniform}, {20, report.Refused, report.Zipf},
		{20, report.NewKey, report.Once},
	}
	var kinds []kind
	for i, row := range r.Rows {
		if i%len(cpuCounts()) == 0 {
			kinds = append(kinds, kind{row.Keys, row.Path, row.Traffic})
		}
		checkRow(t, row)
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("rows %v, want %v", kinds, want)
	}
	for i, s := range b.subjects {
		one := r.Flood.Results[i]
		if one.Subject != s.Name || one.Bounded != (one.Keys == b.plan.flood) || one.NS <= 0 {
			t.Errorf("flood of %s: %+v", s.Name, one)
		}
	}
}

func checkRow(t *testing.T, row report.Row) {
	t.Helper()
	want := len(limiters.Subjects())
	if row.Path == report.Refused {
		want-- // one that waits
	}
	if len(row.Results) != want || row.Results[0].Subject != limiters.Reference || row.Results[0].Ratio != 1 {
		t.Errorf("row %d keys, %s: %d results, the first %+v", row.Keys, row.Path, len(row.Results), row.Results[0])
	}
	for _, one := range row.Results {
		if one.Min <= 0 || one.Min > one.Median {
			t.Errorf("%s: at least %v ns, median %v", one.Subject, one.Min, one.Median)
		}
		if known := row.Keys > 1 && row.Path != report.NewKey; known != (one.Bytes != nil) {
			t.Errorf("%s, %d keys, %s: bytes = %v", one.Subject, row.Keys, row.Path, one.Bytes)
		}
	}
}

func TestRunFailsWithTheSubject(t *testing.T) {
	none := limiters.Subject{Name: "none"}
	b := &bench{plan: tiny(), subjects: []limiters.Subject{none}, start: startHere, progress: io.Discard}
	if _, err := b.run(); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("got error %v, want one that names the subject", err)
	}
}

// stubborn decides as it likes.
type stubborn bool

func (s stubborn) Take(string) bool { return bool(s) }

// forgetful decides as it should, and knows of fewer keys than it was asked about.
type forgetful struct{ stubborn }

func (forgetful) Keys() int { return 1 }

func worker(l limiters.Limiter) *Worker {
	return &Worker{subject: limiters.Subject{
		Name: "stub", Open: func(limiters.Setup) (limiters.Limiter, func(), error) { return l, func() {}, nil },
	}}
}

func TestWorkerFindsOutWhatIsNotMeant(t *testing.T) {
	tests := []struct {
		name    string
		limiter limiters.Limiter
		path    string
		want    string
	}{
		{"refuses", stubborn(false), report.Allowed, "refused one of the first"},
		{"refuses nothing", stubborn(true), report.Refused, "allowed 100 of 100, not 0"},
		{"refuses new keys", stubborn(false), report.NewKey, "allowed 0 of 20, not 20"},
		{"forgets", forgetful{true}, report.Allowed, "remembers 1 keys of 20"},
		{"forgets new keys", forgetful{true}, report.NewKey, "remembers 1 new keys of 20"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := worker(tt.limiter)
			g := Group{Keys: 20, Path: tt.path, Total: 200, Calls: 100}
			err := w.Open(g, &Opened{})
			if err == nil {
				err = w.Sample(SampleArgs{Traffic: g.traffic()[0]}, &Sample{})
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestDistinctKeysAreChecked(t *testing.T) {
	opened := func(counts ...int) []Opened {
		var all []Opened
		for _, n := range counts {
			all = append(all, Opened{Distinct: map[string]int{report.Uniform: n, report.Zipf: n}})
		}
		return all
	}
	tests := []struct {
		traffic string
		counts  []int
		ok      bool
	}{
		{report.Uniform, []int{20, 20}, true},
		{report.Uniform, []int{19, 19}, false},
		{report.Uniform, []int{20, 19}, false},
		{report.Zipf, []int{12, 12}, true},
		{report.Zipf, []int{12, 11}, false},
		{report.Zipf, []int{21, 21}, false},
	}
	for _, tt := range tests {
		m := &measurement{group: Group{Keys: 20}, opened: opened(tt.counts...), processes: []*process{{}, {}}}
		n, err := m.distinct(Traffic{Name: tt.traffic})
		if (err == nil) != tt.ok || tt.ok && n != tt.counts[0] {
			t.Errorf("%s, %v: %d, %v", tt.traffic, tt.counts, n, err)
		}
	}
}

func TestFloodRefusals(t *testing.T) {
	err := worker(stubborn(false)).Flood(FloodArgs{Keys: 100, MaxKeys: 10}, &report.FloodResult{})
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got error %v, want one of a refusal", err)
	}
}

// A debt that is paid while a row runs would make room for others, and change what is measured.
func TestLimitsOutlastTheRun(t *testing.T) {
	for _, g := range planFor(false).groups() {
		if s := g.setup(); s.Per < time.Minute || g.Path == report.Allowed && s.Burst < 10*g.Total {
			t.Errorf("%d keys, %s: %+v for %d requests", g.Keys, g.Path, s, g.Total)
		}
	}
}

func TestPlansUseAllKeysEvenly(t *testing.T) {
	for _, p := range []plan{planFor(false), planFor(true), tiny()} {
		for _, keys := range p.keys {
			if p.rounds*p.calls%keys != 0 {
				t.Errorf("%d requests are no multiple of %d keys", p.rounds*p.calls, keys)
			}
		}
		if p.flood%10 != 0 || p.floodOthers%10 != 0 || p.flood/10 < p.floodMaxKeys {
			t.Errorf("flood of %d or %d keys with room for %d", p.flood, p.floodOthers, p.floodMaxKeys)
		}
	}
}

package report

import (
	"io"
	"time"
)

// The clients that bounds are about.
const (
	FleetReference = "headgate"
	FleetNoop      = "headgate, no-op"
	FleetBaseline  = "redis_rate v10"
)

// What a run has to show, at FleetCallers callers.
const (
	FleetCallers    = 64
	FleetLeastRatio = 2.0 // of the reference's decisions a second to the baseline's
	FleetLeastNoop  = 0.5 // to those of a script that does nothing
	FleetSlack      = 5 * time.Millisecond
)

// Fleet is one run of the benchmark of limits that machines share through Redis.
type Fleet struct {
	Host   Host          `json:"host"`
	Rounds int           `json:"rounds"`
	Sample time.Duration `json:"sample_ns"` // of one client in one round
	Keys   int           `json:"keys"`
	Rows   []FleetRow    `json:"rows"`
	Faults []Fault       `json:"faults"`
}

// FleetRow is what clients do with a number of callers.
type FleetRow struct {
	Parallel int           `json:"parallel"`
	Results  []FleetResult `json:"results"`
}

// FleetRound is what was measured of one client in one round.
type FleetRound struct {
	Rate      float64       `json:"decisions_per_second"`
	P50       time.Duration `json:"p50_ns"`
	P99       time.Duration `json:"p99_ns"`
	Trips     float64       `json:"trips"`         // a decision
	ServerCPU time.Duration `json:"server_cpu_ns"` // a decision
}

// FleetResult is one client: the medians of its rounds.
type FleetResult struct {
	Client string `json:"client"`
	Ours   bool   `json:"ours"`
	FleetRound
	// Ratio and Noop are of the client's decisions a second to those of FleetBaseline and FleetNoop, Tail of its P99 to that of
	// FleetBaseline: medians of the rounds' own.
	Ratio float64 `json:"ratio"`
	Noop  float64 `json:"ratio_to_noop"`
	Tail  float64 `json:"p99_ratio"`
}

// FleetSample is what was measured of one client.
type FleetSample struct {
	Client string
	Ours   bool
	Rounds []FleetRound
}

// FleetResults returns the figures of the samples of one row, all of as many rounds. The baseline and the one of no operation have to be
// among them.
func FleetResults(samples []FleetSample) []FleetResult {
	var base, noop []FleetRound
	for _, s := range samples {
		switch s.Client {
		case FleetBaseline:
			base = s.Rounds
		case FleetNoop:
			noop = s.Rounds
		}
	}
	var results []FleetResult
	for _, s := range samples {
		of := func(get func(FleetRound) float64) float64 { return medianOf(s.Rounds, get) }
		against := func(others []FleetRound, get func(FleetRound) float64) float64 {
			var ratios []float64
			for i, r := range s.Rounds {
				ratios = append(ratios, get(r)/get(others[i]))
			}
			return median(ratios)
		}
		rate := func(r FleetRound) float64 { return r.Rate }
		tail := func(r FleetRound) float64 { return float64(r.P99) }
		results = append(results, FleetResult{
			Client: s.Client, Ours: s.Ours,
			FleetRound: FleetRound{
				Rate: of(rate), P99: time.Duration(of(tail)),
				P50:       time.Duration(of(func(r FleetRound) float64 { return float64(r.P50) })),
				Trips:     of(func(r FleetRound) float64 { return r.Trips }),
				ServerCPU: time.Duration(of(func(r FleetRound) float64 { return float64(r.ServerCPU) })),
			},
			Ratio: against(base, rate), Noop: against(noop, rate), Tail: against(base, tail),
		})
	}
	return results
}

// Fault is what became of callers while Redis was broken in one way.
type Fault struct {
	Name    string        `json:"name"`
	Calls   int           `json:"calls"`
	Timeout time.Duration `json:"timeout_ns"`
	Longest time.Duration `json:"longest_ns"` // that any call took
	Timer   time.Duration `json:"timer_ns"`   // that a timer of Timeout took at the longest, as the machine was busy
	Back    time.Duration `json:"back_ns"`    // until all calls were answered again
}

// FleetBound is one of those that a run has to keep.
type FleetBound struct {
	Text string
	Kept bool
}

// Bounds returns what was to be shown, and whether it was.
func (r *Fleet) Bounds() []FleetBound {
	var bounds []FleetBound
	for _, row := range r.Rows {
		for _, one := range row.Results {
			if row.Parallel == FleetCallers && one.Client == FleetReference {
				bounds = append(bounds, one.bounds()...)
			}
		}
	}
	for _, f := range r.Faults {
		bounds = append(bounds, FleetBound{
			f.Name + ": no call takes more than the time-out and " + FleetSlack.String(), f.Longest <= f.Timeout+FleetSlack,
		})
	}
	return bounds
}

func (one FleetResult) bounds() []FleetBound {
	return []FleetBound{
		{"at 64 callers twice as many decisions as " + FleetBaseline, one.Ratio >= FleetLeastRatio},
		{"and no higher p99", one.Tail <= 1},
		{"half as many as with a script that does nothing", one.Noop >= FleetLeastNoop},
		{"no more than one trip a decision", one.Trips <= 1},
	}
}

// WriteJSON writes the report as one indented JSON object.
func (r *Fleet) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

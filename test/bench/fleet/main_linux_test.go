package main

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/headgate/headgate/test/bench/report"
	"github.com/headgate/headgate/test/redislab"
)

// TestMeasureAll runs everything, far too shortly for figures to mean something.
func TestMeasureAll(t *testing.T) {
	if _, err := redislab.Command(t.Context(), "redis-server"); err != nil && os.Geteuid() != 0 {
		t.Skip(err)
	}
	p := plan{rounds: 1, sample: 10 * time.Millisecond, keys: 10, parallel: []int{1, 8}, fault: 100 * time.Millisecond}
	r, err := measureAll(t.Context(), p, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 2 || len(r.Faults) != len(faults())+1 {
		t.Fatalf("%d rows, %d faults", len(r.Rows), len(r.Faults))
	}
	for _, row := range r.Rows {
		if len(row.Results) != len(clients()) {
			t.Errorf("%d callers: %+v", row.Parallel, row.Results)
		}
		for _, one := range row.Results {
			if one.Rate <= 0 || one.P50 <= 0 || one.P99 < one.P50 || one.Trips <= 0 || one.Ratio <= 0 || one.Noop <= 0 {
				t.Errorf("%d callers: %+v", row.Parallel, one)
			}
			if one.Client == report.FleetBaseline && one.Ratio != 1 || one.Client == report.FleetNoop && one.Noop != 1 {
				t.Errorf("compared with others than themselves: %+v", one)
			}
		}
	}
	for _, f := range r.Faults {
		if f.Longest <= 0 || f.Calls <= 0 || f.Back <= 0 {
			t.Errorf("%+v", f)
		}
	}
}

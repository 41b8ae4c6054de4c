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

// fleet returns a run of which the figures are known.
func fleet() *Fleet {
	rounds := func(rates []float64, p99 time.Duration, trips float64) (all []FleetRound) {
		for _, rate := range rates {
			all = append(all, FleetRound{Rate: rate, P50: p99 / 2, P99: p99, Trips: trips, ServerCPU: 6400 * time.Nanosecond})
		}
		return all
	}
	const µs = time.Microsecond
	return &Fleet{
		Host: example().Host, Rounds: 3, Sample: 400 * time.Millisecond, Keys: 1000,
		Rows: []FleetRow{{Parallel: 64, Results: FleetResults([]FleetSample{
			{Client: FleetBaseline, Rounds: rounds([]float64{40e3, 20e3, 50e3}, 4000*µs, 1)},
			{Client: FleetReference, Ours: true, Rounds: rounds([]float64{100e3, 60e3, 100e3}, 2000*µs, 0.05)},
			{Client: FleetNoop, Ours: true, Rounds: rounds([]float64{250e3, 120e3, 200e3}, 1000*µs, 0.05)},
		})}},
		Faults: []Fault{
			{Name: "SIGSTOP", Calls: 12_000, Timeout: 20 * time.Millisecond, Longest: 24_900 * µs, Timer: 22 * time.Millisecond, Back: 300 * time.Millisecond},
			{Name: "OOM", Calls: 9000, Timeout: 20 * time.Millisecond, Longest: 25_100 * µs, Timer: 21_540 * µs, Back: 200 * time.Millisecond},
		},
	}
}

func TestWriteFleetTable(t *testing.T) {
	const want = `kernel  Linux 6.18.0
CPU     2 x Example <1> & Co
Go      go1.26
date    2026-01-02T03:04:05Z
method  3 rounds, each of 400ms per client, 1,000 keys

64 callers       decisions/s   ratio  to no-op  p50 µs  p99 µs   trips  Redis µs
redis_rate v10        40,000    1.00      0.17    2000    4000   1.000       6.4
headgate             100,000    2.50      0.50    1000    2000   0.050       6.4
headgate, no-op      200,000    6.00      1.00     500    1000   0.050       6.4

fault        calls  longest ms time-out ms  timer ms  back ms
SIGSTOP     12,000        24.9          20      22.0      300
OOM          9,000        25.1          20      21.5      200

kept      at 64 callers twice as many decisions as redis_rate v10
kept      and no higher p99
kept      half as many as with a script that does nothing
kept      no more than one trip a decision
kept      SIGSTOP: no call takes more than the time-out and 5ms
NOT KEPT  OOM: no call takes more than the time-out and 5ms
`
	var b strings.Builder
	if err := fleet().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestFleetBounds(t *testing.T) {
	for _, bad := range []FleetResult{{Ratio: 1.99}, {Tail: 1.01}, {Noop: 0.49}, {FleetRound: FleetRound{Trips: 1.01}}} {
		good := FleetResult{Ratio: max(bad.Ratio, 2), Tail: max(bad.Tail, 1), Noop: max(bad.Noop, 0.5), FleetRound: bad.FleetRound}
		if bad.Ratio > 0 {
			good.Ratio = bad.Ratio
		}
		if bad.Noop > 0 {
			good.Noop = bad.Noop
		}
		missed := 0
		for _, b := range good.bounds() {
			if !b.Kept {
				missed++
			}
		}
		if missed != 1 {
			t.Errorf("%+v misses %d bounds", good, missed)
		}
	}
}

func TestWriteFleetJSON(t *testing.T) {
	var b strings.Builder
	if err := fleet().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got Fleet
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fleet(), &got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestWriteFleetSVG(t *testing.T) {
	var b strings.Builder
	if err := fleet().WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"64 callers", "redis_rate v10", "headgate, no-op"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the plot has no %s", want)
		}
	}
}

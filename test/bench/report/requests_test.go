package report

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func requests() *Requests {
	memory := func(bytes float64) *float64 { return &bytes }
	row := func(keys int, path, traffic string, cpus, distinct int, samples ...RequestSample) Row {
		return Row{Keys: keys, Path: path, Traffic: traffic, CPUs: cpus, Distinct: distinct,
			Results: Results("ours", samples)}
	}
	ours := RequestSample{Subject: "ours", Ours: true, NS: []float64{60, 50, 70}, Bytes: memory(40)}
	alike := RequestSample{Subject: "ours too", Ours: true, NS: []float64{45}, Bytes: memory(50)}
	slow := RequestSample{Subject: "a slow one", NS: []float64{150, 125}, Allocs: 2, Bytes: memory(201.5)}
	fast := RequestSample{Subject: "a fast one", NS: []float64{40, 60}, Bytes: memory(0)}
	once := RequestSample{Subject: "ours", Ours: true, NS: []float64{1000}, Allocs: 1}
	return &Requests{
		Host: example().Host, Reference: "ours", KeyBytes: 16, Rounds: 3, Calls: 50_000,
		Rows: []Row{
			row(1, Allowed, OneKey, 1, 1, once),
			row(1000, Allowed, Uniform, 1, 1000, ours, alike, slow, slow),
			row(1000, Allowed, Zipf, 2, 987, ours, alike, slow, fast),
			row(1_000_000, NewKey, Once, 2, 1_000_000, once),
		},
		Flood: &Flood{MaxKeys: 100_000, Results: []FloodResult{
			{Subject: "ours", Ours: true, Bounded: true, Keys: 10_000_000, Start: mebibyte, Tenth: 8 * mebibyte, End: 8 * mebibyte, NS: 300},
			{Subject: "another", Keys: 2_000_000, Tenth: 100 * mebibyte, End: 1000 * mebibyte, NS: 600.25},
		}},
	}
}

func TestWriteRequestsTable(t *testing.T) {
	const want = `kernel  Linux 6.18.0
CPU     2 x Example <1> & Co
Go      go1.26
date    2026-01-02T03:04:05Z
method  3 rounds, each of 50,000 requests or more per limiter, keys of 16 bytes

1 key, allowed          one key, 1 CPU  allocs    bytes
                            ns   ratio            a key
ours                    1000.0    1.00    1.00        -
different keys used                  1

1,000 keys, allowed     uniform, 1 CPU       zipf, 2 CPUs  allocs    bytes
                            ns   ratio         ns   ratio            a key
ours                      50.0    1.00       50.0    1.00    0.00     40.0
ours too                  45.0    0.90       45.0    0.90    0.00     50.0
a slow one               125.0    2.50      125.0    2.50    2.00    201.5
a slow one               125.0    2.50       40.0    0.80    2.00    201.5
different keys used              1,000                987

1,000,000 keys, new key       once, 2 CPUs  allocs    bytes
                                ns   ratio            a key
ours                        1000.0    1.00    1.00        -
different keys used              1,000,000

MiB, each request a new key   max keys        keys      none   a tenth       all        ns
ours                           100,000  10,000,000       1.0       8.0       8.0     300.0
another                              -   2,000,000       0.0     100.0    1000.0     600.2

faster than ours:
1,000 keys, allowed, zipf, 2 CPUs: a fast one, ratio 0.80
`
	var b strings.Builder
	if err := requests().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestWriteRequestsTableWithoutMore(t *testing.T) {
	r := requests()
	r.Rows, r.Flood = r.Rows[:2], nil
	var b strings.Builder
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	const want = "\nno other is faster than ours in any row of more than one key\n"
	if !strings.HasSuffix(b.String(), want) || strings.Contains(b.String(), "MiB") {
		t.Errorf("got:\n%s\nwant an end of %q and no memory", b.String(), want)
	}
}

func TestResults(t *testing.T) {
	got := Results("b", []RequestSample{
		{Subject: "a", NS: []float64{30, 20, 70}, Allocs: 2},
		{Subject: "b", Ours: true, NS: []float64{10, 40}},
	})
	want := []Result{
		{Subject: "a", Min: 20, Median: 30, Ratio: 2, Allocs: 2},
		{Subject: "b", Ours: true, Min: 10, Median: 25, Ratio: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// One key is in no store of keys, and what is ours is no other's.
func TestLost(t *testing.T) {
	ours := Result{Subject: "ours", Ours: true, Ratio: 0.5}
	fast := Result{Subject: "fast", Ratio: 0.5}
	r := &Requests{Rows: []Row{
		{Keys: 1, Results: []Result{fast}}, {Keys: 2, Results: []Result{ours, fast}},
		{Keys: 3, Results: []Result{{Subject: "as fast", Ratio: 1}}},
	}}
	want := []Row{{Keys: 2, Results: []Result{fast}}}
	if diff := cmp.Diff(want, r.Lost()); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	if len(r.Rows[1].Results) != 2 {
		t.Error("the report has changed")
	}
}

func TestWriteRequestsJSON(t *testing.T) {
	var b strings.Builder
	if err := requests().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got Requests
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*requests(), got); diff != "" {
		t.Errorf("after writing and reading (-want +got):\n%s", diff)
	}
	for _, name := range []string{`"min_ns": 50,`, `"bytes_per_key": 201.5`, `"path": "new key"`, `"distinct": 987`} {
		if !strings.Contains(b.String(), name) {
			t.Errorf("no %s in\n%s", name, b.String())
		}
	}
}

func TestWriteRequestsSVG(t *testing.T) {
	i := draw(t, requests())
	var classes []string
	for _, rect := range i.Rects {
		classes = append(classes, rect.Class)
	}
	want := []string{"card", "headgate", "headgate", "baseline", "baseline"} // the one row of Zipf on 2 CPUs
	if diff := cmp.Diff(want, classes); diff != "" {
		t.Errorf("rectangles (-want +got):\n%s", diff)
	}
	if width := i.Rects[3].Width; width != barsWidth {
		t.Errorf("the longest bar is %v wide, want %v", width, barsWidth)
	}
	if want := "1,000 keys, zipf, 2 CPUs"; i.Texts[2].Text != want || i.Texts[2].Class != "heading" {
		t.Errorf("third text %+v, want the heading %q", i.Texts[2], want)
	}
}

func TestWriteRequestsErrors(t *testing.T) {
	r := requests()
	for name, write := range map[string]func(io.Writer) error{
		"table": r.WriteTable, "JSON": r.WriteJSON, "SVG": r.WriteSVG,
	} {
		if err := write(full{}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s: got error %v, want %v", name, err, io.ErrShortWrite)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1_002_003: "1,002,003"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %q, want %q", n, got, want)
		}
	}
}

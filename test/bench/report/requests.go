package report

import (
	"io"
	"slices"
)

// What becomes of the requests of a row.
const (
	Allowed = "allowed" // of keys that are known
	Refused = "refused"
	NewKey  = "new key" // allowed, each the first of its key
)

// How often each key is used in a row.
const (
	OneKey  = "one key"
	Uniform = "uniform" // as often as each other, in random order
	Zipf    = "zipf"    // the k-th most common with a share like 1/k^1.1
	Once    = "once"
)

// Requests is one run of the benchmark of limits by key.
type Requests struct {
	Host      Host   `json:"host"`
	Reference string `json:"reference"` // the subject that the others are compared with
	KeyBytes  int    `json:"key_bytes"` // the length of each key, which no figure of memory counts
	Rounds    int    `json:"rounds"`    // samples per row and subject
	Calls     int    `json:"calls"`     // in a sample, at least
	Rows      []Row  `json:"rows"`
	Flood     *Flood `json:"flood,omitempty"`
}

// Row is what one kind of traffic costs of each subject.
type Row struct {
	Keys     int      `json:"keys"`     // that each subject remembers
	Path     string   `json:"path"`     // what becomes of all requests
	Traffic  string   `json:"traffic"`  // how often each key is used
	CPUs     int      `json:"cpus"`     // that make requests at the same time
	Distinct int      `json:"distinct"` // different keys among all requests that were measured
	Results  []Result `json:"results"`
}

// Result is what a request costs one subject.
type Result struct {
	Subject string   `json:"subject"`
	Ours    bool     `json:"ours"`
	Min     float64  `json:"min_ns"`    // per request: CPU time on 1 CPU, else time that passed
	Median  float64  `json:"median_ns"` // of all rounds
	Ratio   float64  `json:"ratio"`     // of Min to that of the reference
	Allocs  float64  `json:"allocs"`    // per request
	Bytes   *float64 `json:"bytes_per_key,omitempty"`
}

// Flood is what becomes of the memory when each request comes with another key.
type Flood struct {
	MaxKeys int           `json:"max_keys"` // that a subject has to remember, where it can be told
	Results []FloodResult `json:"results"`
}

// FloodResult is the live heap of one subject, in bytes.
type FloodResult struct {
	Subject string  `json:"subject"`
	Ours    bool    `json:"ours"`
	Bounded bool    `json:"bounded"` // it was told MaxKeys
	Keys    int     `json:"keys"`    // different ones, one request each
	Start   float64 `json:"start_bytes"`
	Tenth   float64 `json:"tenth_bytes"` // after a tenth of the keys
	End     float64 `json:"end_bytes"`
	NS      float64 `json:"ns"` // per request, the making of its key included
}

// RequestSample is what was measured of one subject in one row.
type RequestSample struct {
	Subject string
	Ours    bool
	NS      []float64 // per request, a figure for each round
	Allocs  float64   // per request
	Bytes   *float64  // per key, nil where that makes no sense
}

// Results returns the figures of the samples of one row, in their order. One of them must be
// of the reference.
func Results(reference string, samples []RequestSample) []Result {
	var base float64
	results := make([]Result, len(samples))
	for i, s := range samples {
		results[i] = Result{
			Subject: s.Subject, Ours: s.Ours, Allocs: s.Allocs, Bytes: s.Bytes,
			Min: slices.Min(s.NS), Median: median(s.NS),
		}
		if s.Subject == reference {
			base = results[i].Min
		}
	}
	for i := range results {
		results[i].Ratio = results[i].Min / base
	}
	return results
}

// Lost returns the rows of more than one key in which a subject that is not ours took less than
// the reference, with that subject alone.
func (r *Requests) Lost() []Row {
	var lost []Row
	for _, row := range r.Rows {
		for _, one := range row.Results {
			if row.Keys > 1 && !one.Ours && one.Ratio < 1 {
				row.Results = []Result{one}
				lost = append(lost, row)
			}
		}
	}
	return lost
}

// WriteJSON writes the report as one indented JSON object.
func (r *Requests) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

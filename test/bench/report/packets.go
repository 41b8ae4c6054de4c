package report

import (
	"fmt"
	"io"
)

// Packets is one run of the benchmark of the XDP program.
type Packets struct {
	Host     Host      `json:"host"`
	Rounds   int       `json:"rounds"` // samples per case
	Repeat   int       `json:"repeat"` // packets per sample
	Cases    []Case    `json:"cases"`
	Flows    []Flow    `json:"flows"`
	Verdicts []Verdict `json:"verdicts"`
}

// Case is what one program costs per packet, in ns.
type Case struct {
	Name     string  `json:"name"`
	Baseline bool    `json:"baseline"` // not headgate, but what it is compared with
	Min      float64 `json:"min_ns"`
	Median   float64 `json:"median_ns"`
	Net      float64 `json:"net_ns"` // Min, without what it costs to change the packet's source
	Ratio    float64 `json:"ratio"`  // of Net to that of noop
}

// Flow is how many packets a second arrive over a veth pair.
type Flow struct {
	Name    string  `json:"name"`
	Packets float64 `json:"packets_per_second"` // the most of all rounds
	Median  float64 `json:"median_packets_per_second"`
	Ratio   float64 `json:"ratio"` // of Packets to those of the first flow
}

// Verdict compares a figure with what it may be at most.
type Verdict struct {
	Claim string  `json:"claim"`
	Value float64 `json:"value"`
	Bound float64 `json:"bound"`
	Basis string  `json:"basis"` // how Bound comes about
	Unit  string  `json:"unit"`
	Met   bool    `json:"met"`
}

// AtMost returns the verdict on a value that may be at most bound.
func AtMost(claim string, value, bound float64, basis, unit string) Verdict {
	return Verdict{Claim: claim, Value: value, Bound: bound, Basis: basis, Unit: unit, Met: value <= bound}
}

// String returns the verdict as a line of text.
func (v Verdict) String() string {
	met := "met"
	if !v.Met {
		met = "not met"
	}
	return fmt.Sprintf("%s: %.2f %s, bound %s = %.2f %s: %s",
		v.Claim, v.Value, v.Unit, v.Basis, v.Bound, v.Unit, met)
}

// WriteJSON writes the report as one indented JSON object.
func (r *Packets) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

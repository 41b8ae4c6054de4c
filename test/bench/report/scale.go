package report

import (
	"io"
	"slices"
	"time"
)

// NoopOnCPUs is the name of the traffic that a program only drops, which others are compared with.
const NoopOnCPUs = "noop (drop)"

// Scale is one run of the benchmark of many sources and several CPUs.
type Scale struct {
	Host     Host          `json:"host"`
	Rounds   int           `json:"rounds"`
	Repeat   int           `json:"repeat"`      // packets per sample of Sizes
	Together time.Duration `json:"together_ns"` // about, per sample of CPUs
	Sizes    []Size        `json:"sizes"`
	CPUs     []OnCPUs      `json:"cpus"`
	Line     float64       `json:"line_ns"` // until a CPU sees what another one wrote
}

// Size is what a packet costs where all come from so many sources at random, in ns: the least of all rounds, without what it
// costs to change the packet's source and to start the program.
type Size struct {
	Sources uint64  `json:"sources"`
	Buckets uint64  `json:"buckets"` // that there is room for
	Under   float64 `json:"under_ns"`
	Over    float64 `json:"over_ns"`
}

// SizeSample is what was measured of one size, a figure for each round.
type SizeSample struct {
	Sources, Buckets uint64
	Under, Over      []float64 // ns per packet
}

// Sizes returns the figures of the samples. base is what a program that only drops costs with sources changed.
func Sizes(base []float64, samples []SizeSample) []Size {
	var all []Size
	for _, s := range samples {
		least := slices.Min(base)
		all = append(all, Size{
			Sources: s.Sources, Buckets: s.Buckets, Under: slices.Min(s.Under) - least, Over: slices.Min(s.Over) - least,
		})
	}
	return all
}

// OnCPUs is how many packets a second one CPU decides, and two at once: medians.
type OnCPUs struct {
	Name    string  `json:"name"`
	OneLine bool    `json:"one_line"` // each packet writes the cache line that all CPUs write
	Lines   bool    `json:"lines"`    // each packet writes one of many lines, at random
	One     float64 `json:"one_packets_per_second"`
	Two     float64 `json:"two_packets_per_second"`
	Ratio   float64 `json:"ratio"`          // the median of the rounds' own
	On16    float64 `json:"estimate_on_16"` // packets per second
	On64    float64 `json:"estimate_on_64"`
}

// CPUSample is what was measured of some traffic.
type CPUSample struct {
	Name    string
	OneLine bool // as in OnCPUs
	Lines   bool
	rounds  [][2]float64
}

// Add adds a round: packets per second of one CPU, and of two.
func (s *CPUSample) Add(one, two float64) { s.rounds = append(s.rounds, [2]float64{one, two}) }

// CPUs returns the figures of the samples, each of which has a round at least.
func CPUs(samples []CPUSample) []OnCPUs {
	var all []OnCPUs
	for _, s := range samples {
		of := func(get func(one, two float64) float64) float64 {
			return medianOf(s.rounds, func(r [2]float64) float64 { return get(r[0], r[1]) })
		}
		c := OnCPUs{
			Name:    s.Name,
			OneLine: s.OneLine,
			Lines:   s.Lines,
			One:     of(func(one, _ float64) float64 { return one }),
			Two:     of(func(_, two float64) float64 { return two }),
			Ratio:   of(func(one, two float64) float64 { return two / one }),
		}
		c.On16, c.On64 = c.estimate(16), c.estimate(64)
		all = append(all, c)
	}
	return all
}

// free is the ratio from which on two CPUs do not hinder one another: what is missing is the machine's unrest.
const free = 1.85

// estimate returns how many packets a second n CPUs decide: n times what one does where two do not hinder one another, and
// otherwise no more than two. What they wait for is a cache line that each packet writes, and however many CPUs there are, it
// is with one of them at a time. Two that are threads of one core have its cache in common, and do not show that; so it is
// said of traffic, and not only measured.
//
// Where each packet writes one of many lines, the one that had it last is another CPU for (n-1)/n of the packets. What that
// costs, two CPUs show for a half of them.
func (c *OnCPUs) estimate(n float64) float64 {
	switch {
	case c.Lines:
		one, two := 1/c.One, 2/c.Two
		return n / (one + max(two-one, 0)*2*(n-1)/n)
	case c.OneLine || c.Ratio < free:
		return c.Two
	}
	return n * c.One
}

// WriteJSON writes the report as one indented JSON object.
func (r *Scale) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

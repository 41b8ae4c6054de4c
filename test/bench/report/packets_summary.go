package report

import "slices"

// Names of the cases that others are compared with.
const (
	Noop     = "noop (drop)"
	Clock    = "clock (parse, read the clock)"
	SpreadBy = "noop, source changed per packet"
)

// Sample is what was measured of one case, a figure for each round.
type Sample struct {
	Name     string
	Baseline bool
	Spread   bool      // the source was changed per packet
	NS       []float64 // per packet
}

// Cases returns the figures of the samples, in their order. Among them must be those named Noop
// and, where any is Spread, SpreadBy.
func Cases(samples []Sample) []Case {
	noop := minOf(samples, Noop)
	spreading := minOf(samples, SpreadBy) - noop
	cases := make([]Case, 0, len(samples))
	for _, s := range samples {
		least := slices.Min(s.NS)
		c := Case{Name: s.Name, Baseline: s.Baseline, Min: least, Median: median(s.NS), Net: least}
		if s.Spread {
			c.Net -= spreading
		}
		c.Ratio = c.Net / noop
		cases = append(cases, c)
	}
	return cases
}

// Flows returns the figures of what each of the names received per second, a figure for each
// round. The first one is what the others are compared with.
func Flows(names []string, perSecond [][]float64) []Flow {
	flows := make([]Flow, 0, len(names))
	for i, name := range names {
		most := slices.Max(perSecond[i])
		first := slices.Max(perSecond[0])
		flows = append(flows, Flow{Name: name, Packets: most, Median: median(perSecond[i]), Ratio: most / first})
	}
	return flows
}

// Net returns the net ns per packet of the case of that name, or 0.
func Net(cases []Case, name string) float64 {
	i := slices.IndexFunc(cases, func(c Case) bool { return c.Name == name })
	if i < 0 {
		return 0
	}
	return cases[i].Net
}

func minOf(samples []Sample, name string) float64 {
	i := slices.IndexFunc(samples, func(s Sample) bool { return s.Name == name })
	if i < 0 {
		return 0
	}
	return slices.Min(samples[i].NS)
}

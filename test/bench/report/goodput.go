package report

import (
	"io"
	"time"
)

// Goodput is one run of the benchmark of HTTP.
type Goodput struct {
	Host        Host          `json:"host"`
	Rounds      int           `json:"rounds"` // of the floods
	Phase       time.Duration `json:"phase_ns"`
	Rate        int           `json:"flood_attempts_per_second"`
	Connections int           `json:"flood_connections"`
	Fronts      []Front       `json:"fronts"`
	Wire        Wire          `json:"wire"`
	Frames      Frames        `json:"frames"` // of an attacker who is handed down
	AskRounds   int           `json:"ask_rounds"`
	Asking      time.Duration `json:"ask_ns"` // how long each server is asked in a round
	Costs       []Cost        `json:"costs"`
	Memory      []uint64      `json:"agent_resident_bytes"` // after each round of Costs
	Verdicts    []Verdict     `json:"verdicts"`
}

// Front is what was measured of a server that is flooded: medians over the rounds.
type Front struct {
	Name      string        `json:"name"`
	Ours      bool          `json:"ours"`
	HandsDown bool          `json:"hands_down"`
	Quiet     float64       `json:"quiet_per_second"` // requests of the client that works, without the flood
	QuietP99  time.Duration `json:"quiet_p99_ns"`
	Flooded   float64       `json:"flooded_per_second"` // the same during the flood
	FloodP99  time.Duration `json:"flooded_p99_ns"`
	Kept      float64       `json:"kept"` // share of Quiet that is left
	Until     float64       `json:"refused_until_handed_down"`
	Attempts  float64       `json:"attempts_per_second"`   // of the attacker, alone
	CPU       time.Duration `json:"cpu_ns_per_attempt"`    // of the servers, for attempts on kept connections
	CPUAnew   time.Duration `json:"cpu_ns_per_connection"` // for attempts on a connection each; the same where both are a SYN that is dropped
	Busy      float64       `json:"server_cpu_busy"`       // share of the time of the servers' CPU, in the flood alone, by anybody
}

// Wire is the CPU time of packets that are dropped by a program that does nothing else.
type Wire struct {
	Knock  time.Duration `json:"knock_ns"` // a SYN that a TCP client sends, at the rate of the flood
	Frames Frames        `json:"frames"`
}

// Frames is the CPU time of frames that are dropped: frames as a driver hands them over, which no socket owns and nobody has to copy, as
// fast as they come.
type Frames struct {
	SYN     time.Duration `json:"syn_ns"`
	Request time.Duration `json:"request_ns"` // a segment with a request
}

// MedianFrames returns the medians.
func MedianFrames(rounds []Frames) Frames {
	of := func(get func(Frames) time.Duration) time.Duration {
		return time.Duration(medianOf(rounds, func(f Frames) float64 { return float64(get(f)) }))
	}
	return Frames{
		SYN:     of(func(f Frames) time.Duration { return f.SYN }),
		Request: of(func(f Frames) time.Duration { return f.Request }),
	}
}

// MedianWire returns the medians.
func MedianWire(rounds []Wire) Wire {
	var frames []Frames
	for _, w := range rounds {
		frames = append(frames, w.Frames)
	}
	return Wire{
		Knock:  time.Duration(medianOf(rounds, func(w Wire) float64 { return float64(w.Knock) })),
		Frames: MedianFrames(frames),
	}
}

// FrontNumbers are those of one round.
type FrontNumbers struct {
	Quiet, Flooded       float64
	QuietP99, FloodedP99 time.Duration
	Until                int
	Attempts             float64
	CPU, CPUAnew         time.Duration
	Busy                 float64
}

// FrontSample is what was measured of a front.
type FrontSample struct {
	Name            string
	Ours, HandsDown bool
	rounds          []FrontNumbers
}

// Add adds a round.
func (s *FrontSample) Add(n FrontNumbers) { s.rounds = append(s.rounds, n) }

// Fronts returns the figures of the samples, each of which has a round at least.
func Fronts(samples []FrontSample) []Front {
	var fronts []Front
	for _, s := range samples {
		of := func(get func(FrontNumbers) float64) float64 { return medianOf(s.rounds, get) }
		fronts = append(fronts, Front{
			Name: s.Name, Ours: s.Ours, HandsDown: s.HandsDown,
			Quiet:    of(func(n FrontNumbers) float64 { return n.Quiet }),
			QuietP99: time.Duration(of(func(n FrontNumbers) float64 { return float64(n.QuietP99) })),
			Flooded:  of(func(n FrontNumbers) float64 { return n.Flooded }),
			FloodP99: time.Duration(of(func(n FrontNumbers) float64 { return float64(n.FloodedP99) })),
			Kept:     of(func(n FrontNumbers) float64 { return n.Flooded / n.Quiet }),
			Until:    of(func(n FrontNumbers) float64 { return float64(n.Until) }),
			Attempts: of(func(n FrontNumbers) float64 { return n.Attempts }),
			CPU:      time.Duration(of(func(n FrontNumbers) float64 { return float64(n.CPU) })),
			CPUAnew:  time.Duration(of(func(n FrontNumbers) float64 { return float64(n.CPUAnew) })),
			Busy:     of(func(n FrontNumbers) float64 { return n.Busy }),
		})
	}
	return fronts
}

// Cost is what headgate's agent costs beside a server without a limiter: medians over the rounds.
type Cost struct {
	Name     string        `json:"name"`
	Rate     float64       `json:"per_second"`
	Bare     float64       `json:"bare_per_second"`
	Ratio    float64       `json:"ratio"` // of Rate to Bare, in the same round
	CPU      time.Duration `json:"cpu_ns"`
	BareCPU  time.Duration `json:"bare_cpu_ns"`
	CPURatio float64       `json:"cpu_ratio"` // of BareCPU to CPU, in the same round
}

// CostNumbers are those of one server in one round.
type CostNumbers struct {
	Rate float64       // requests a second
	CPU  time.Duration // of the server for each
}

// CostSample is what was measured of a case.
type CostSample struct {
	Name   string
	rounds [][2]CostNumbers
}

// Add adds a round: the numbers of headgate and of the other server.
func (s *CostSample) Add(ours, bare CostNumbers) {
	s.rounds = append(s.rounds, [2]CostNumbers{ours, bare})
}

// Costs returns the figures of the samples, each of which has a round at least.
func Costs(samples []CostSample) []Cost {
	var costs []Cost
	for _, s := range samples {
		of := func(get func(ours, bare CostNumbers) float64) float64 {
			return medianOf(s.rounds, func(n [2]CostNumbers) float64 { return get(n[0], n[1]) })
		}
		costs = append(costs, Cost{
			Name:     s.Name,
			Rate:     of(func(ours, _ CostNumbers) float64 { return ours.Rate }),
			Bare:     of(func(_, bare CostNumbers) float64 { return bare.Rate }),
			Ratio:    of(func(ours, bare CostNumbers) float64 { return ours.Rate / bare.Rate }),
			CPU:      time.Duration(of(func(ours, _ CostNumbers) float64 { return float64(ours.CPU) })),
			BareCPU:  time.Duration(of(func(_, bare CostNumbers) float64 { return float64(bare.CPU) })),
			CPURatio: of(func(ours, bare CostNumbers) float64 { return float64(bare.CPU) / float64(ours.CPU) }),
		})
	}
	return costs
}

func medianOf[T any](rounds []T, get func(T) float64) float64 {
	values := make([]float64, 0, len(rounds))
	for _, r := range rounds {
		values = append(values, get(r))
	}
	return median(values)
}

// What headgate is to reach.
const (
	leastKept  = 0.9
	mostOfCPU  = 1.0 / 50
	leastRatio = 0.9
)

// GoodputVerdicts compares the figures of a run with what they are to be. The first of Fronts is what others are compared with.
func GoodputVerdicts(r *Goodput) []Verdict {
	var all []Verdict
	for _, f := range r.Fronts {
		if f.HandsDown {
			all = append(all, verdictsOn(f, r.Fronts[0])...)
		}
	}
	if len(r.Fronts) > 0 {
		all = append(all, verdictsOnFrames(r.Frames, r.Fronts[0])...)
	}
	for _, c := range r.Costs {
		// Requests a second of CPU time: those of time that passes are also what others on the machine leave.
		all = append(all, AtLeast(c.Name+": requests a second of CPU time", c.CPURatio, leastRatio, "0.9 of the bare server's", "times"))
	}
	return all
}

// verdictsOn returns the verdicts on a front. An attempt that it drops is one to open a connection, so it is compared
// with a refusal on a connection of its own.
func verdictsOn(f, first Front) []Verdict {
	basis := "1/50 of " + first.Name
	bound := microseconds(first.CPUAnew) * mostOfCPU
	return []Verdict{
		AtLeast(f.Name+": requests kept in the flood", f.Kept, leastKept, "0.9 of those without", "times"),
		AtMost(f.Name+": CPU time per attempt to connect", microseconds(f.CPUAnew), bound, basis, "µs"),
	}
}

// verdictsOnFrames returns those on frames that a driver hands over: a SYN beside a refusal on a connection of its own, and a
// request beside one on a connection that is kept.
func verdictsOnFrames(f Frames, first Front) []Verdict {
	basis := "1/50 of " + first.Name
	return []Verdict{
		AtMost("handed down: CPU time per attempt to connect, from a driver", microseconds(f.SYN),
			microseconds(first.CPUAnew)*mostOfCPU, basis, "µs"),
		AtMost("handed down: CPU time per request on a kept connection, from a driver", microseconds(f.Request),
			microseconds(first.CPU)*mostOfCPU, basis, "µs"),
	}
}

// AtLeast returns the verdict on a value that has to be at least bound.
func AtLeast(claim string, value, bound float64, basis, unit string) Verdict {
	return Verdict{Claim: claim, Value: value, Bound: bound, Basis: basis, Unit: unit, Met: value >= bound}
}

// WriteJSON writes the report as one indented JSON object.
func (r *Goodput) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

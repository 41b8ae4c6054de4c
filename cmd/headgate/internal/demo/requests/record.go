package requests

import (
	"fmt"
	"slices"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/part"
	"github.com/headgate/headgate/cmd/headgate/internal/demo/theory"
)

// record is what is known of one client in one phase.
type record struct {
	member
	theory *theory.Theory

	passed, refused, cut, knocks uint64
	entered                      uint64   // knocks that a connection came of, although none should
	wrong                        []string // about answers
	took                         []time.Duration

	first, last int64   // when its requests were decided about at the earliest and at the latest
	credit      float64 // requests that it could send at once at first

	offended int64 // when the request whose refusal was one too many was sent, at the earliest
	cutSent  int64 // when the first request that did not arrive was sent
	cutSeen  int64 // when that was certain
}

// note takes down what a client has seen.
func (r *record) note(s part.Seen) {
	r.arrive(s)
	r.passed += uint64(s.Passed)
	r.refused += uint64(s.Refused)
	r.cut += uint64(s.Cut)
	r.knocks += uint64(s.Knocks)
	r.entered += uint64(s.Entered)
	r.wrong = append(r.wrong, s.Wrong...)
	if s.Took > 0 {
		r.took = append(r.took, time.Duration(s.Took))
	}
	if r.offended == 0 && r.refused >= offences {
		r.offended = s.Start
	}
	if r.cutSent == 0 && s.Cut > 0 {
		r.cutSent, r.cutSeen = s.CutSent, s.End
	}
}

// arrive tells theory what was decided about.
func (r *record) arrive(s part.Seen) {
	decided := s.Passed + s.Refused
	if decided == 0 {
		return
	}
	if r.first == 0 {
		r.first = s.Start
		r.credit = r.theory.Credit(s.Start)
	}
	r.last = s.End
	r.theory.Arrive(decided, decided, theory.Window{Start: s.Start, End: s.End})
}

// unanswered are attempts that nothing was heard of.
func (r *record) unanswered() uint64 { return r.cut + r.knocks - r.entered }

func (r *record) sent() uint64 { return r.passed + r.refused + r.cut + r.knocks }

// check compares the record of a phase with theory and with what the backend counted.
func (r *record) check(phase string, counted uint64) Check {
	c := Check{
		Phase: phase, Client: r.addr.String(), Attempts: r.sent(),
		Passed: r.passed, Theory: r.theory.Bounds(), Backend: counted,
		Refused: r.refused, Unanswered: r.unanswered(), Entered: r.entered, Why: r.why(),
		Latency: latencyOf(r.took),
	}
	c.judge()
	return c
}

func (r *record) why() string {
	switch r.sent() {
	case 0:
		return "sends nothing"
	case r.theory.Bounds().Least:
		return "never over its limit"
	}
	lasted := time.Duration(r.last - r.first).Seconds()
	if r.credit < 1 {
		return fmt.Sprintf("%d/s for %.3f s", perSecond, lasted)
	}
	return fmt.Sprintf("up to %.0f at once, %d/s for %.3f s", r.credit, perSecond, lasted)
}

// Latency is how long answers took, with their connections, in seconds.
type Latency struct {
	Median float64 `json:"median_seconds"`
	P99    float64 `json:"p99_seconds"`
	Worst  float64 `json:"worst_seconds"`
}

// latencyOf returns exact percentiles; nil of nothing.
func latencyOf(took []time.Duration) *Latency {
	if len(took) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(took))
	at := func(hundredths int) float64 {
		return sorted[(len(sorted)*hundredths+99)/100-1].Seconds()
	}
	return &Latency{Median: at(50), P99: at(99), Worst: at(100)}
}

// Package backend simulates a backend under the adaptive controller, on a clock of its own: clients that do
// not wait for answers, a limit, and workers that take requests in their order.
package backend

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/adaptive"
	"github.com/headgate/headgate/userspace/config"
)

// Scenario is what is simulated. The same one gives the same result each time.
type Scenario struct {
	Seed     uint64
	For      time.Duration
	Adaptive config.Adaptive
	Offered  func(at time.Duration) float64 // requests a second, at random times
	Rate     float64                        // requests a second that pass at the factor 1
	Workers  int
	Capacity func(at time.Duration) float64 // requests a second that all workers can answer
	Status   func(at time.Duration) int     // of answers; nil for 200
}

// Interval is what happened in one interval of the controller.
type Interval struct {
	adaptive.Change
	Admitted, Answered int // requests
	// P99 is the exact 99th percentile of the answers' latency.
	P99 time.Duration
}

// Always returns a number that does not change.
func Always(n float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return n }
}

// simulation is a Scenario under way.
type simulation struct {
	Scenario
	random     *rand.Rand
	controller *adaptive.Controller
	tokens     float64
	filled     time.Duration
	free       []time.Duration // when each worker is
	underWay   answers
	now        Interval
	latencies  []time.Duration
}

// Run simulates s.
func Run(s Scenario) []Interval {
	m := &simulation{
		Scenario: s,
		random:   rand.New(rand.NewPCG(s.Seed, 1)),
		free:     make([]time.Duration, s.Workers),
	}
	m.controller = adaptive.New(s.Adaptive, adaptive.Options{Waiting: func() int { return len(m.underWay) }})
	var out []Interval
	arrival := m.gap(0)
	for end := s.Adaptive.Interval; end <= s.For; end += s.Adaptive.Interval {
		for ; arrival < end; arrival += m.gap(arrival) {
			m.arrive(arrival)
		}
		m.answerUntil(end)
		out = append(out, m.step(end))
	}
	return out
}

// gap returns the time until the next request after at.
func (m *simulation) gap(at time.Duration) time.Duration {
	return time.Duration(m.random.ExpFloat64() / m.Offered(at) * float64(time.Second))
}

func (m *simulation) arrive(at time.Duration) {
	m.answerUntil(at)
	if !m.admit(at) {
		return
	}
	m.now.Admitted++
	worker := 0
	for i := range m.free {
		if m.free[i] < m.free[worker] {
			worker = i
		}
	}
	begin := max(at, m.free[worker])
	takes := m.random.ExpFloat64() * float64(m.Workers) / m.Capacity(begin) * float64(time.Second)
	m.free[worker] = begin + time.Duration(takes)
	heap.Push(&m.underWay, answer{at: m.free[worker], asked: at})
}

// admit is a limit with a burst of a tenth of a second.
func (m *simulation) admit(at time.Duration) bool {
	rate := m.Rate * m.controller.Factor()
	m.tokens = min(m.tokens+rate*(at-m.filled).Seconds(), max(rate/10, 1))
	m.filled = at
	if m.tokens < 1 {
		return false
	}
	m.tokens--
	return true
}

func (m *simulation) answerUntil(now time.Duration) {
	for len(m.underWay) > 0 && m.underWay[0].at <= now {
		a := heap.Pop(&m.underWay).(answer)
		status := 200
		if m.Status != nil {
			status = m.Status(a.at)
		}
		m.controller.Observe(status, a.at-a.asked)
		m.latencies = append(m.latencies, a.at-a.asked)
	}
}

func (m *simulation) step(now time.Duration) Interval {
	i := m.now
	i.Change = m.controller.Step(now)
	i.Answered = len(m.latencies)
	slices.Sort(m.latencies)
	if n := len(m.latencies); n > 0 {
		i.P99 = m.latencies[(n*99+99)/100-1]
	}
	m.now, m.latencies = Interval{}, m.latencies[:0]
	return i
}

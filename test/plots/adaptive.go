package main

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/test/backend"
	"github.com/headgate/headgate/userspace/config"
)

// capacity is how many requests a second the simulated backend answers: half as many from 60 to 120 s.
func capacity(at time.Duration) float64 {
	if at >= time.Minute && at < 2*time.Minute {
		return 500
	}
	return 1000
}

// drawAdaptive draws how many requests the adaptive section lets through to a backend that gets slow and well again.
func drawAdaptive() []byte {
	const duration, offered = 3 * time.Minute, 3000
	intervals := backend.Run(backend.Scenario{
		Seed: 1, For: duration, Workers: 8, Rate: 2000,
		Offered: backend.Always(offered), Capacity: capacity,
		Adaptive: config.Adaptive{
			Interval: time.Second, Floor: 0.1, Ceiling: 1, Increase: 0.05, Decrease: 0.7, Recover: 0.8,
			Latency: config.Latency{Percentile: 99, Target: 200 * time.Millisecond},
		},
	})
	p := newPlot(fmt.Sprintf("%d requests a second, and a backend that answers 1000, then 500, then 1000", offered),
		"requests a second, by seconds; the limit is 2000r/s; adaptive: {latency: {percentile: 99, target: 200ms}}",
		axis{0, duration.Seconds(), 20, "%.0f"}, axis{0, 2000, 500, "%.0f"})
	var can, pass, answered []float64
	for i, n := range intervals {
		can = append(can, capacity(time.Duration(i)*time.Second))
		pass, answered = append(pass, float64(n.Admitted)), append(answered, float64(n.Answered))
	}
	for i, line := range []struct {
		class, name string
		perSecond   []float64
	}{
		{"offered", "what the backend can answer", can},
		{"leaky", "let through", pass},
		{"waits", "answered", answered},
	} {
		p.level(line.perSecond, line.class)
		p.legend(i, line.class, line.name)
	}
	return p.bytes()
}

// level draws a number for each second.
func (p *plot) level(perSecond []float64, class string) {
	fmt.Fprintf(&p.out, `<path class="line %s" d="M%.1f %.1f`, class, p.x(0), p.y(perSecond[0]))
	for i, n := range perSecond {
		fmt.Fprintf(&p.out, "V%.1fH%.1f", p.y(n), p.x(float64(i+1)))
	}
	p.out.WriteString(`"/>` + "\n")
}

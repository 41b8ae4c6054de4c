package adaptive

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// enough is how many answers it takes to say anything.
const enough = 5

// observed is what happened in a window.
type observed struct {
	latencies *histogram
	failures  uint64 // 5xx
	elapsed   time.Duration
	// stuck is how many requests were under way all of the time for age, at least.
	stuck int
	age   time.Duration
}

// reading is the signal in a window.
type reading struct {
	value, target float64 // seconds, a share, or requests
	beyond        uint64  // answers that are beyond the target
	answers       uint64
	failing       bool   // half of them are 5xx, which short latencies do not make good
	name          string // of the signal
	format        func(float64) string
}

// String says what was read, as "p99 of 412 answers 310ms".
func (r reading) String() string {
	return fmt.Sprintf("%s %s in %d answers", r.name, r.format(r.value), r.answers)
}

// over reports whether the backend is unhealthy for certain.
func (r reading) over() bool { return r.value > r.target && r.beyond >= enough }

// read returns the signal that c names.
func (o observed) read(c *config.Adaptive) reading {
	answers := o.latencies.count()
	switch {
	case c.Latency.Target > 0:
		return o.latency(c.Latency)
	case c.Errors > 0:
		return reading{
			value: share(o.failures, answers), target: c.Errors, beyond: o.failures,
			answers: answers, name: "share of 5xx", format: percent,
		}
	default:
		return o.inFlight(c.InFlight)
	}
}

// latency takes what is stuck for answers that took as long as they are known to be under way.
func (o observed) latency(l config.Latency) reading {
	answered := o.latencies.count()
	o.latencies[bucket(o.age)] += uint64(o.stuck)
	return reading{
		value:   o.latencies.percentile(l.Percentile).Seconds(),
		target:  l.Target.Seconds(),
		beyond:  o.latencies.beyond(l.Target),
		answers: answered + uint64(o.stuck),
		failing: o.failing(),
		name:    fmt.Sprintf("p%g", l.Percentile),
		format:  seconds,
	}
}

// inFlight returns the mean of what was under way: the part of the window that its answers took, and those
// that were there all along. A gauge that is read once a window would depend on the moment.
func (o observed) inFlight(target int) reading {
	return reading{
		value:   share(uint64(o.latencies.within(o.elapsed)), uint64(o.elapsed)) + float64(o.stuck),
		target:  float64(target),
		beyond:  enough, // requests under way are a fact, however few are answered
		answers: o.latencies.count() + uint64(o.stuck),
		failing: o.failing(),
		name:    "requests under way",
		format:  func(v float64) string { return fmt.Sprintf("%.1f", v) },
	}
}

func (o observed) failing() bool {
	return o.failures > 0 && 2*o.failures >= o.latencies.count()
}

func share(part, all uint64) float64 {
	if all == 0 {
		return 0
	}
	return float64(part) / float64(all)
}

func seconds(v float64) string {
	return time.Duration(v * float64(time.Second)).Round(100 * time.Microsecond).String()
}

func percent(v float64) string { return fmt.Sprintf("%.3g%%", 100*v) }

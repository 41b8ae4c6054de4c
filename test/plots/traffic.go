package main

import (
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/keyed"
)

const ms = time.Millisecond

// steady returns when requests come that are twice as many as the limits admit.
func steady() []time.Duration { return every(0, 3000*ms, 50*ms) }

// edge returns a request that begins a window, and many around its end.
func edge() []time.Duration { return append([]time.Duration{0}, every(900*ms, 1105*ms, 5*ms)...) }

// instant returns n requests at once.
func instant(n int) []time.Duration { return make([]time.Duration, n) }

// every returns times from from to before to.
func every(from, to, step time.Duration) []time.Duration {
	var at []time.Duration
	for t := from; t < to; t += step {
		at = append(at, t)
	}
	return at
}

// passed sends a request of one key at each time, and returns when those that pass go on, in order.
func passed(l keyed.Limiter[string], arrivals []time.Duration) []time.Duration {
	var gone []time.Duration
	for _, now := range arrivals {
		if r := l.Take("key", 1, now); r.Allowed {
			gone = append(gone, now+r.Delay)
		}
	}
	slices.Sort(gone)
	return gone
}

// most returns how many of the sorted times are within a period at most, its first moment included and its last not.
func most(times []time.Duration, period time.Duration) int {
	best, first := 0, 0
	for i, t := range times {
		for t-times[first] >= period {
			first++
		}
		best = max(best, i-first+1)
	}
	return best
}

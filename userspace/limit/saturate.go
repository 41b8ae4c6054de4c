package limit

import (
	"math"
	"time"
)

// until returns end - now, and the longest duration where that overflows. now
// must be at most end.
func until(end, now time.Duration) time.Duration {
	return shorten(uint64(end) - uint64(now))
}

// shorten returns ns as a duration, and the longest where it is longer.
func shorten(ns uint64) time.Duration {
	return time.Duration(min(ns, math.MaxInt64))
}

// after returns start + length, and the end of time where that overflows.
// length must not be negative.
func after(start, length time.Duration) time.Duration {
	end := start + length
	if end < start {
		return math.MaxInt64
	}
	return end
}

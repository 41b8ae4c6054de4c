package limit

import (
	"math"
	"time"
)

// thousandths returns n units in thousandths, at most 2^64-1.
func thousandths(n uint64) uint64 {
	if n > math.MaxUint64/1000 {
		return math.MaxUint64
	}
	return n * 1000
}

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

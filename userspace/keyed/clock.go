package keyed

import (
	"math"
	"time"
)

// jitter is how far behind the latest time a now may be that was read just before it by
// another goroutine. What is further behind comes of a clock that was set back.
const jitter = time.Second

// clock makes time that never goes back of one that may.
type clock struct {
	seen   time.Duration // the latest reading since the clock was last set back
	latest time.Duration // the time that it stands for
}

func newClock() clock { return clock{seen: math.MinInt64, latest: math.MinInt64} }

// at returns the time that the reading now stands for.
func (c clock) at(now time.Duration) time.Duration {
	c.advance(now)
	return c.latest
}

// advance is at, and goes on from there. A clock that was set back goes on at the
// time that it had reached: as if no time had passed.
func (c *clock) advance(now time.Duration) time.Duration {
	switch {
	case now >= c.seen:
		// The difference of two int64 fits in a uint64.
		passed := uint64(now) - uint64(c.seen)
		if room := uint64(math.MaxInt64) - uint64(c.latest); passed > room {
			passed = room
		}
		c.latest = time.Duration(uint64(c.latest) + passed)
		c.seen = now
	case uint64(c.seen)-uint64(now) > uint64(jitter):
		c.seen = now
	}
	return c.latest
}

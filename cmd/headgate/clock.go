package main

import (
	"math"
	"time"
)

// clock ties the boot clock, which the kernel's times are in, to the time of day.
type clock struct {
	wall time.Time
	boot uint64
}

func (e *env) clock() clock { return clock{wall: e.now(), boot: e.bootTime()} }

// at returns the time of day at a time of the boot clock.
func (c clock) at(boot uint64) time.Time { return c.wall.Add(c.until(boot)) }

// until returns how far ahead a time of the boot clock is.
func (c clock) until(boot uint64) time.Duration { return time.Duration(int64(boot - c.boot)) }

// expiry returns a time of the boot clock for people to wait for: in whole seconds, never early.
func (c clock) expiry(boot uint64) (at time.Time, seconds int64) {
	const almost = time.Second - 1
	left := min(c.until(boot), math.MaxInt64-almost) + almost
	return c.wall.Add(left).Truncate(time.Second).UTC(), int64(max(0, left) / time.Second)
}

package redisconn

import (
	"math/bits"
	"time"
)

// phase is whether calls may pass a breaker.
type phase int

const (
	closed  phase = iota // all
	opened               // none
	ramping              // some, and more as they are answered
)

const (
	// inARow is how many round trips have to fail one after the other, and ofLast of the last lastTrips, until a server is
	// left alone. The second is for those that answer one call and not another, as one without memory does.
	inARow    = 3
	ofLast    = 10
	lastTrips = 20
	// firstAllowance is how many calls may be under way when a server answers again. It doubles with each round trip.
	firstAllowance = 4
	// A server is tried after firstPause, and then at intervals that double up to longestPause.
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
)

// breaker decides whether servers are left alone. It knows no time, and starts nothing.
type breaker struct {
	full int // as many calls may be under way at all

	phase     phase
	era       int    // how often it opened
	row       int    // round trips that failed since one did not
	last      uint32 // a bit for each of the last round trips, set where it failed
	allowance int    // while ramping
	pause     time.Duration
	cause     error // what the last failure was; nil after a success
}

func newBreaker(full int) breaker { return breaker{full: full, pause: firstPause} }

// admits reports whether one more call may be made while so many are under way.
func (b *breaker) admits(underWay int) bool {
	return b.phase == closed || b.phase == ramping && underWay < b.allowance
}

// fail takes a round trip that failed, and reports whether the phase is another now.
func (b *breaker) fail(cause error) bool {
	b.row++
	b.last = (b.last<<1 | 1) & (1<<lastTrips - 1)
	if b.phase == closed && b.row < inARow && bits.OnesCount32(b.last) < ofLast {
		b.cause = cause
		return false
	}
	return b.open(cause)
}

// open has nobody pass, and reports whether that is new. What was open a moment before is tried later than then.
func (b *breaker) open(cause error) bool {
	b.cause = cause
	switch b.phase {
	case opened:
		return false
	case closed:
		b.pause = firstPause
	case ramping:
		b.pause = min(2*b.pause, longestPause)
	}
	b.phase = opened
	b.era++
	return true
}

// succeed takes a round trip that was well, and reports whether the phase is another now.
func (b *breaker) succeed() bool {
	switch b.phase {
	case closed:
		b.row, b.cause = 0, nil
		b.last = b.last << 1 & (1<<lastTrips - 1)
	case ramping:
		if b.allowance = min(2*b.allowance, b.full); b.allowance == b.full {
			*b = breaker{full: b.full, era: b.era, pause: firstPause}
			return true
		}
	}
	return false
}

// relieve takes a call without haste that was well. What it says of a server that is used is that nothing is wrong with it now; but
// not that it is fast enough for others.
func (b *breaker) relieve() {
	if b.phase == closed {
		b.cause = nil
	}
}

// probed takes a probe, and reports whether the phase is another now.
func (b *breaker) probed(fault error) bool {
	switch {
	case fault != nil && b.phase == opened:
		b.cause = fault
		b.pause = min(2*b.pause, longestPause)
	case fault != nil:
		return b.open(fault)
	case b.phase == opened:
		b.phase, b.allowance = ramping, min(firstAllowance, b.full)
		return true
	}
	return b.phase == ramping && b.succeed()
}

// wait returns when to probe next, before it is made random.
func (b *breaker) wait() time.Duration {
	if b.phase == ramping {
		return firstPause
	}
	return b.pause
}

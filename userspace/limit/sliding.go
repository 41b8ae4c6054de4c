package limit

import (
	"math"
	"math/bits"
	"time"
)

// Sliding is a sliding window, estimated from two counters as in HAProxy's
// frequency counters (freq_ctr.c): so many units in any time per. Periods of
// that length follow each other on a grid that begins with the first unit of an
// idle key. What was charged in the period before counts as if it were spread
// evenly over it:
//
//	estimate = current + previous*left/per, rounded down
//
// left being the time until the current period ends. n units pass if the
// estimate and n are at most the count. What is refused costs nothing. The grid
// begins anew when both counters are 0.
//
// HAProxy counts a unit first and then compares. Its exception against flapping
// (a previous 1 stays 1 if the current is 0) does not apply to what has been
// counted, so that this admits the same.
//
// # Error
//
// The estimate is off from the number of units in the last time per by no more
// than the units of the previous period. It is too low by at most
// previous*(per-left)/per, rounded up, when all of them came at the end of that
// period, and too high by at most previous*left/per, when they all came at its
// start. So within any time per at most twice the count may pass, but no more
// than the count in any period: in the long run the rate is exact.
//
// NewSliding makes a Sliding. The zero value admits nothing. If now goes back,
// no more is admitted than at the latest now that units passed.
type Sliding struct {
	count uint64
	per   time.Duration
}

// SlidingState is the state of a key under a Sliding. The zero value is that of
// a key never seen.
type SlidingState struct {
	Tick       time.Duration // when the current period began
	Curr, Prev uint64        // units charged in the current period and the one before
}

var _ Algorithm[SlidingState] = Sliding{}

// NewSliding returns the Sliding of count units per time. It returns an error if
// count is 0 (wrapping rate.ErrZero) or more than 2^63-1, or if per is not
// positive.
func NewSliding(count uint64, per time.Duration) (Sliding, error) {
	if err := checkQuota(count, per); err != nil {
		return Sliding{}, err
	}
	return Sliding{count, per}, nil
}

// Fresh implements Algorithm.
func (l Sliding) Fresh(time.Duration) SlidingState { return SlidingState{} }

// Take implements Algorithm.
func (l Sliding) Take(s *SlidingState, n uint64, now time.Duration) (r Result) {
	found := l.current(*s, now)
	r.Allowed = n <= l.free(found, now)
	if r.Allowed && n != 0 {
		r.undo = undoQuota(found.Tick, n, found.idle())
		found.Curr += n
		*s = found
	}
	r.Limit, r.Remaining, r.ResetAfter = l.count, l.free(found, now), l.reset(found, now)
	if r.Remaining < l.count {
		r.NextAfter = l.wait(found, r.Remaining+1, now)
	}
	switch {
	case n > l.count:
		r.RetryAfter = Never
	case !r.Allowed:
		r.RetryAfter = l.wait(found, n, now)
	}
	return r
}

// Refund implements Algorithm: while the units count, also in the period after
// theirs. It reports false if others followed that would have begun the grid at
// another time without these. Of two calls with the same r both take back units,
// as nothing tells charges of the same period apart.
func (l Sliding) Refund(s *SlidingState, r Result, now time.Duration) bool {
	tick, n, opened := r.undo.quota()
	found := l.current(*s, now)
	counter, followed := &found.Curr, false
	if tick != found.Tick {
		// The current period would be elsewhere if nothing was left before it.
		counter, followed = &found.Prev, found.Prev == n && found.Curr != 0
		tick += l.per
	}
	followed = followed || opened && *counter > n
	if n == 0 || tick != found.Tick || *counter < n || followed {
		return false
	}
	*counter -= n
	if found.idle() {
		found = SlidingState{}
	}
	*s = found
	return true
}

// Debt implements Algorithm.
func (l Sliding) Debt(s SlidingState, now time.Duration) time.Duration {
	return l.reset(l.current(s, now), now)
}

// Owed implements Algorithm.
func (l Sliding) Owed(s SlidingState, now time.Duration) uint64 {
	return thousandths(l.used(l.current(s, now), now))
}

func (s SlidingState) idle() bool { return s.Curr == 0 && s.Prev == 0 }

// current returns s in the period that now is in.
func (l Sliding) current(s SlidingState, now time.Duration) SlidingState {
	next := after(s.Tick, l.per)
	switch {
	case s.idle(), l.per == 0:
	case now < next:
		return s
	case s.Curr != 0 && now < after(next, l.per):
		return SlidingState{Tick: next, Prev: s.Curr}
	}
	return SlidingState{Tick: now}
}

// free returns how many units fit into s, which is current.
func (l Sliding) free(s SlidingState, now time.Duration) uint64 {
	return l.count - min(l.used(s, now), l.count)
}

// used returns the estimate of s, which is current.
func (l Sliding) used(s SlidingState, now time.Duration) uint64 {
	used := s.Curr
	if s.Prev != 0 {
		high, low := bits.Mul64(s.Prev, l.left(s, now))
		faded, _ := bits.Div64(high, low, uint64(l.per)) // left is at most per
		used += min(faded, math.MaxUint64-used)
	}
	return used
}

// left returns how long, in ns, the current period lasts. A now before it is
// taken for its beginning.
func (l Sliding) left(s SlidingState, now time.Duration) uint64 {
	return uint64(l.per) - (uint64(max(now, s.Tick)) - uint64(s.Tick))
}

// wait returns the time until n units fit into s, which is current. They must
// not fit at now, nor be more than the count.
func (l Sliding) wait(s SlidingState, n uint64, now time.Duration) time.Duration {
	begun := max(now, s.Tick)
	left, room := l.left(s, now), l.count-n
	if s.Curr <= room {
		left -= l.fade(s.Prev, room-s.Curr)
	} else {
		// Not before the next period, in which the current units fade.
		left += uint64(l.per) - l.fade(s.Curr, room)
	}
	return after(until(begun, now), shorten(left))
}

// fade returns how much of a period may be left, at most, in ns, for such a
// number of units in the period before to count as no more than room, which is
// less: the largest time with units*time/per < room+1.
func (l Sliding) fade(units, room uint64) uint64 {
	high, low := bits.Mul64(room+1, uint64(l.per))
	low, borrow := bits.Sub64(low, 1, 0)
	left, _ := bits.Div64(high-borrow, low, units) // below per, as room < units
	return left
}

// reset returns the time until nothing of s counts, which is current.
func (l Sliding) reset(s SlidingState, now time.Duration) time.Duration {
	if s.idle() {
		return 0
	}
	end := after(s.Tick, l.per)
	if s.Curr != 0 {
		end = after(end, l.per)
	}
	return until(end, now)
}

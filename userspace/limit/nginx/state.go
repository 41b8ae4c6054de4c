package nginx

import (
	"math"
	"math/bits"
	"time"
)

// state is what is known of a key.
type state struct {
	last   int64 // ms, of the latest charge at which time had passed
	excess int64 // milli-requests, at last
}

// unseen is the state of a key that is first seen at now: one request is free.
func unseen(now int64) state { return state{last: now, excess: -milli} }

// ticks returns the whole milliseconds of now, rounded down also before 0.
func ticks(now time.Duration) int64 {
	ms := int64(now / time.Millisecond)
	if now%time.Millisecond < 0 {
		ms--
	}
	return ms
}

// longAgo is how far back, in ms, a clock may go before nginx takes the time of the last
// charge for wrong, and how long a key must be idle to be forgotten early.
const longAgo = 60_000

// elapsed returns the milliseconds since s was charged, as far as nginx believes them.
func (s state) elapsed(now int64) int64 {
	switch ms := now - s.last; {
	case ms < -longAgo:
		return 1
	default:
		return max(ms, 0)
	}
}

// drained returns how many milli-requests r lets go in ms milliseconds.
func (r Rate) drained(ms int64) int64 {
	hi, lo := bits.Mul64(uint64(r), uint64(ms))
	if hi == 0 {
		return int64(lo / milli)
	}
	if hi >= milli {
		return math.MaxInt64
	}
	drained, _ := bits.Div64(hi, lo, milli)
	return int64(min(drained, math.MaxInt64))
}

// behind returns the excess of s at now if one more request came, negative where there is room for more.
func (s state) behind(r Rate, now int64) int64 {
	return s.excess - r.drained(s.elapsed(now)) + milli
}

// charged returns s with n requests charged at now, at least one. As in nginx the excess of the first
// is not negative, and time stays as it was where none has passed.
func (s state) charged(r Rate, n uint64, now int64) state {
	last := s.last
	if s.elapsed(now) != 0 {
		last = now
	}
	return state{last, max(s.behind(r, now), 0) + int64(n-1)*milli}
}

// fits returns how many requests fit into s at now with a burst (milli-requests).
func (s state) fits(r Rate, burst, now int64) uint64 {
	first := max(s.behind(r, now), 0)
	if first > burst {
		return 0
	}
	return uint64((burst-first)/milli) + 1
}

// until returns the time from now to the first millisecond at which need milli-requests, more than
// have gone from s by now, will have gone.
func (s state) until(r Rate, need int64, now time.Duration) time.Duration {
	ms, rest := r.milliseconds(need)
	if rest {
		ms++
	}
	const most = math.MaxInt64 / int64(time.Millisecond)
	if ms > most || s.last > most-ms {
		return math.MaxInt64
	}
	wait := time.Duration(s.last+ms)*time.Millisecond - now
	if wait < 0 { // now is so far before 0 that the difference overflows
		return math.MaxInt64
	}
	return wait
}

// milliseconds returns how many whole milliseconds it takes until excess milli-requests have gone,
// and whether it takes a part of one more.
func (r Rate) milliseconds(excess int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(excess), milli)
	if hi == 0 {
		ms := lo / uint64(r)
		return int64(min(ms, math.MaxInt64-1)), ms*uint64(r) != lo
	}
	if hi >= uint64(r) {
		return math.MaxInt64 - 1, false
	}
	ms, rest := bits.Div64(hi, lo, uint64(r))
	return int64(min(ms, math.MaxInt64-1)), rest != 0
}

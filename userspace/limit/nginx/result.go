package nginx

import (
	"math"
	"math/bits"
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// result returns what n units of a key in state s would get at now.
func (l *Limiter[K]) result(s state, n uint64, now time.Duration) limit.Result {
	rate, ms := l.zone.rate, ticks(now)
	if n == 0 {
		r := l.describe(s, now)
		r.Allowed = true
		r.Excess = uint64(max(s.behind(rate, ms)-milli, 0))
		return r
	}
	if n <= s.fits(rate, l.burst, ms) {
		return l.allowed(s.charged(rate, n, ms), now)
	}
	return l.refused(s, n, now)
}

// allowed returns the result of units that led to state s.
func (l *Limiter[K]) allowed(s state, now time.Duration) limit.Result {
	r := l.describe(s, now)
	r.Allowed = true
	r.Excess = uint64(s.excess)
	if ahead := s.excess - l.delay; ahead > 0 {
		r.Delay = l.zone.rate.delay(ahead)
	}
	return r
}

// refused returns the result of n units that do not fit into state s.
func (l *Limiter[K]) refused(s state, n uint64, now time.Duration) limit.Result {
	r := l.describe(s, now)
	rate := l.zone.rate
	first := uint64(max(s.behind(rate, ticks(now)), 0))
	r.Excess = excessOf(first, n)
	if n > r.Limit {
		r.RetryAfter = limit.Never
		return r
	}
	r.RetryAfter = s.until(rate, s.excess+int64(n)*milli-l.burst, now)
	return r
}

// describe returns a result that tells what s is, and nothing of units.
func (l *Limiter[K]) describe(s state, now time.Duration) limit.Result {
	rate, ms := l.zone.rate, ticks(now)
	r := limit.Result{
		Zone:      l.zone.name,
		Limit:     uint64(l.burst/milli) + 1,
		Remaining: s.fits(rate, l.burst, ms),
	}
	if r.Remaining != r.Limit {
		more := int64(r.Remaining+1) * milli
		r.NextAfter = s.until(rate, s.excess+more-l.burst, now)
	}
	if s.behind(rate, ms) > 0 {
		r.ResetAfter = s.until(rate, s.excess+milli, now)
	}
	return r
}

// excessOf returns the excess of n units, of which the first has excess first.
func excessOf(first, n uint64) uint64 {
	hi, lo := bits.Mul64(n-1, milli)
	sum, carry := bits.Add64(lo, first, 0)
	if hi != 0 || carry != 0 {
		return math.MaxUint64
	}
	return sum
}

// delay returns how long a request with ahead milli-requests before it waits, cut off to
// milliseconds.
func (r Rate) delay(ahead int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	ms, _ := r.milliseconds(ahead)
	return time.Duration(min(ms, most)) * time.Millisecond
}

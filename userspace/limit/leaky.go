package limit

import (
	"math"
	"math/bits"
	"time"
)

// Leaky is a leaky bucket as nginx's limit_req means it, without its
// milliseconds: a rate, a burst of N and a delay of M. An idle key may send N+1
// units at one instant. The first 1+M go on at once; those beyond are to wait as
// Result.Delay says, so that they leave no faster than the rate.
//
// It is the GCRA of Params with a burst of N+1. Where nginx truncates (1r/m is
// 0.016r/s there, and no rate above 1000r/s shows without a burst), this is
// exact to the nanosecond. Result.Excess is nginx's too, rounded up, so that it
// is above N exactly where units are refused.
//
// NewLeaky and CompileLeaky make a Leaky. The zero value admits nothing.
//
// It counts in ticks modulo 2^64, with the consequences that the package tells
// of. Rates of requests need a shift of 9 at most: their ticks come round after
// 417 days or more. now may be negative. If it goes back, by at most ClockSlack,
// no more is admitted than at the latest now.
type Leaky struct {
	cost    uint64 // of one unit, in ticks
	burst   uint64 // the largest debt, in ticks: limit times cost
	prompt  uint64 // the largest debt, in ticks, of what goes on at once
	horizon uint64 // the largest debt, in ticks, that has not passed
	limit   uint64 // N+1, in units
	shift   uint8  // a tick is 2^-shift ns
}

var _ Algorithm[State] = Leaky{}

// Fresh implements Algorithm.
func (l Leaky) Fresh(now time.Duration) State { return State{TAT: l.ticks(now)} }

// Take implements Algorithm. It does not allocate.
func (l Leaky) Take(s *State, n uint64, now time.Duration) (r Result) {
	at, debt := l.ticks(now), l.debt(*s, now)
	total := debt + n*l.cost // does not overflow for n up to the limit
	r.Excess = l.excess(debt, n)
	if n > l.limit || total > l.burst && n != 0 {
		r.RetryAfter = Never
		if n <= l.limit {
			r.RetryAfter = l.duration(total - l.burst)
		}
		l.report(&r, debt)
		return r
	}
	r.Allowed = true
	l.report(&r, total)
	if n == 0 {
		return r
	}
	if total > l.prompt {
		r.Delay = l.duration(total - l.prompt)
	}
	r.undo = undo{before: s.TAT, after: at + total}
	s.TAT = at + total
	return r
}

// Refund implements Algorithm. What a charge changed is known only until the
// next one, so that it reports false if anything was charged since.
func (l Leaky) Refund(s *State, r Result, _ time.Duration) bool {
	if r.undo.before == r.undo.after || s.TAT != r.undo.after {
		return false
	}
	s.TAT = r.undo.before
	return true
}

// Debt implements Algorithm.
func (l Leaky) Debt(s State, now time.Duration) time.Duration {
	return l.duration(l.debt(s, now))
}

// Convert carries s, last charged under was, over to l after a change of the
// limit at now. The debt stays the same time, rounded up to a tick, and is cut
// to the largest burst of the limits that l shares states with. It is not
// needed between limits that share states.
func (l Leaky) Convert(s State, was Leaky, now time.Duration) State {
	if was.debt(s, now) == 0 {
		return l.Fresh(now)
	}
	largest := Params{Cost: l.cost, Burst: l.ceiling(), Shift: l.shift}
	return largest.Convert(s, was.shift, uint64(now))
}

// report sets what r tells of a key with such a debt.
func (l *Leaky) report(r *Result, debt uint64) {
	r.Limit = l.limit
	r.ResetAfter = l.duration(debt)
	if debt < l.burst {
		r.Remaining = (l.burst - debt) / l.cost
	}
	if r.Remaining < l.limit {
		r.NextAfter = l.duration(debt + (r.Remaining+1)*l.cost - l.burst)
	}
}

// excess returns by how many thousandths of a unit a key with such a debt is
// ahead of its rate with n units more.
func (l *Leaky) excess(debt, n uint64) uint64 {
	const quick = 1 << 52 // times 1000, and a cost more, is below 2^63
	if l.cost == 0 || (debt|n) >= quick {
		return l.hugeExcess(debt, n)
	}
	// n costs a multiple of the cost, so that only the debt has to be divided.
	units := n*1000 + (debt*1000+l.cost-1)/l.cost
	return max(units, 1000) - 1000
}

// hugeExcess is excess for any numbers and for the zero value. It saturates.
func (l *Leaky) hugeExcess(debt, n uint64) uint64 {
	high, low := bits.Mul64(debt, 1000)
	low, carry := bits.Add64(low, l.cost-1, 0)
	high += carry
	over, units := bits.Mul64(n, 1000)
	switch {
	case l.cost == 0:
		return 0
	case high >= l.cost, over != 0:
		return math.MaxUint64
	}
	ahead, _ := bits.Div64(high, low, l.cost)
	units, carry = bits.Add64(units, ahead, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return max(units, 1000) - 1000
}

// debt returns how far the TAT is ahead of now, in ticks, 0 if it has passed.
func (l *Leaky) debt(s State, now time.Duration) uint64 {
	debt := s.TAT - l.ticks(now)
	if debt > l.horizon {
		return 0
	}
	return debt
}

// ceiling returns the largest burst, in ticks, of those that share states.
func (l *Leaky) ceiling() uint64 { return l.horizon - min(l.horizon, ClockSlack<<(l.shift&63)) }

// ticks returns a point in time, modulo 2^64. The mask spares the code that Go
// needs for shifts above 63.
func (l *Leaky) ticks(now time.Duration) uint64 { return uint64(now) << (l.shift & 63) }

// duration rounds ticks up to whole nanoseconds.
func (l *Leaky) duration(ticks uint64) time.Duration {
	return time.Duration((ticks + 1<<(l.shift&63) - 1) >> (l.shift & 63))
}

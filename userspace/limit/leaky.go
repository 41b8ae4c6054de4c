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
	owed, units := l.owed(debt)
	r.Excess = excess(owed, n)
	total := debt + n*l.cost // does not overflow for n up to the limit
	switch {
	case n > l.limit:
		r.RetryAfter = Never
	case n != 0 && total > l.burst:
		r.RetryAfter = l.duration(total - l.burst)
	default:
		r.Allowed = true
		debt, units = total, units+n
		if n != 0 {
			r.Delay = l.duration(total - min(total, l.prompt))
			r.undo = undo{before: s.TAT, after: at + total}
			s.TAT = at + total
		}
	}
	r.Limit = l.limit
	r.ResetAfter = l.duration(debt)
	if units = min(units, l.limit); units > 0 {
		r.NextAfter = l.duration(debt - (units-1)*l.cost)
	}
	r.Remaining = l.limit - units
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

// Owed implements Algorithm.
func (l Leaky) Owed(s State, now time.Duration) uint64 {
	thousandths, _ := l.owed(l.debt(s, now))
	return thousandths
}

// Convert carries s, charged under was, over to l, which takes its place at now. What s owes stays the same number of units, rounded up to a tick, and is cut
// to l's burst: of several limits with one rate that share states, l has to be the one with the largest. So over the change no
// more passes than the larger of the two bursts and what the larger of the two rates gives; and a key that owed an hour
// at a slow rate owes a moment at a fast one. It is not needed between limits that share states.
func (l Leaky) Convert(s State, was Leaky, now time.Duration) State {
	debt := was.debt(s, now)
	if debt == 0 {
		return l.Fresh(now)
	}
	high, low := bits.Mul64(debt, l.cost)
	low, carry := bits.Add64(low, was.cost-1, 0)
	owed := l.burst
	if high += carry; high < was.cost {
		quotient, _ := bits.Div64(high, low, was.cost)
		owed = min(quotient, l.burst)
	}
	return State{TAT: l.ticks(now) + owed}
}

// quick is the bound below which a debt, or a number of units, times 1000 is
// far from overflowing.
const quick = 1 << 52

// owed returns a debt in thousandths of a unit and in units, both rounded up,
// and the first of them at most 2^64-1. One division does for both.
func (l *Leaky) owed(debt uint64) (thousandths, units uint64) {
	if debt >= quick || l.cost == 0 {
		return l.hugeOwed(debt)
	}
	thousandths = (debt*1000 + l.cost - 1) / l.cost
	return thousandths, (thousandths + 999) / 1000
}

// hugeOwed is owed for any debt and for the zero value.
func (l *Leaky) hugeOwed(debt uint64) (thousandths, units uint64) {
	if l.cost == 0 {
		return 0, 0
	}
	high, low := bits.Mul64(debt, 1000)
	low, carry := bits.Add64(low, l.cost-1, 0)
	thousandths = math.MaxUint64
	if high += carry; high < l.cost {
		thousandths, _ = bits.Div64(high, low, l.cost)
	}
	if units = debt / l.cost; debt%l.cost != 0 {
		units++
	}
	return thousandths, units
}

// excess returns by how many thousandths of a unit a key that owes as many is
// ahead of its rate with n units more, at most 2^64-1.
func excess(owed, n uint64) uint64 {
	if (owed | n) >= quick {
		high, thousandths := bits.Mul64(n, 1000)
		sum, carry := bits.Add64(owed, thousandths, 0)
		if high+carry != 0 {
			return math.MaxUint64
		}
		return max(sum, 1000) - 1000
	}
	return max(owed+n*1000, 1000) - 1000
}

// debt returns how far the TAT is ahead of now, in ticks, 0 if it has passed.
func (l *Leaky) debt(s State, now time.Duration) uint64 {
	debt := s.TAT - l.ticks(now)
	if debt > l.horizon {
		return 0
	}
	return debt
}

// ticks returns a point in time, modulo 2^64. The mask spares the code that Go
// needs for shifts above 63.
func (l *Leaky) ticks(now time.Duration) uint64 { return uint64(now) << (l.shift & 63) }

// duration rounds ticks up to whole nanoseconds.
func (l *Leaky) duration(ticks uint64) time.Duration {
	return time.Duration((ticks + 1<<(l.shift&63) - 1) >> (l.shift & 63))
}

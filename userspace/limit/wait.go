package limit

import "math"

// Remaining returns the largest n that Fits at time now (ns), and 2^64-1 if p
// limits nothing.
func (p Params) Remaining(s State, now uint64) uint64 {
	if p.IsZero() {
		return math.MaxUint64
	}
	debt := p.debt(s, now)
	if debt > p.Burst { // within ClockSlack
		return 0
	}
	return (p.Burst - debt) / p.Cost
}

// RetryAfter returns the shortest time in ns from now (ns) after which n units
// fit if nothing else is charged: 0 if they fit now. It reports false if they
// never fit, because n is more than the burst.
func (p Params) RetryAfter(s State, n, now uint64) (uint64, bool) {
	charge, ok := p.charge(n)
	if !ok {
		return 0, false
	}
	if p.Fits(s, n, now) {
		return 0, true
	}
	return p.nanoseconds(p.debt(s, now) - (p.Burst - charge)), true
}

// nanoseconds rounds ticks up to whole nanoseconds.
func (p Params) nanoseconds(ticks uint64) uint64 {
	whole := ticks >> p.Shift
	if whole<<p.Shift != ticks {
		whole++
	}
	return whole
}

package limit

import "math"

// Remaining returns the largest n that Fits at time now, 0 if the source is in
// debt, and 2^64-1 if p limits nothing.
func (p Params) Remaining(s State, now uint64) uint64 {
	if p.IsZero() {
		return math.MaxUint64
	}
	debt := s.debt(now)
	if !debt.atMost(p.burst()) {
		return 0
	}
	return p.burst().minus(debt).quo(p.cost())
}

// RetryAfter returns the shortest time in ns after which n units fit if nothing
// else is charged: 0 if they fit now. It reports false if they never fit,
// because n is more than the burst.
func (p Params) RetryAfter(s State, n, now uint64) (uint64, bool) {
	if p.IsZero() {
		return 0, true
	}
	price, ok := p.cost().times(n)
	if !ok || !price.atMost(p.burst()) {
		return 0, false
	}
	allowed, debt := p.burst().minus(price), s.debt(now)
	if debt.atMost(allowed) {
		return 0, true
	}
	return debt.minus(allowed).ceil(), true
}

// debt returns how far the TAT is ahead of now.
func (s State) debt(now uint64) fixed {
	from := s.from(now)
	return fixed{from.ns - now, from.frac}
}

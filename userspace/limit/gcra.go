// Package limit is the executable specification of headgate's limiter: what
// the XDP program does to a bucket, bit for bit, as pure functions of a clock
// reading.
//
// The algorithm is the generic cell rate algorithm (GCRA) in its virtual
// scheduling form, from ITU-T I.371 and ATM Forum Traffic Management 4.0. A
// bucket holds one theoretical arrival time (TAT). Each unit that passes moves
// it ahead by the cost of one unit; a unit passes if the TAT would then be no
// further ahead of now than the burst. Times are nanoseconds with 32 bits of
// fraction.
//
// It admits exactly what a token bucket with real-valued tokens admits: a
// burst of B units from an idle source, and over any time t at most B + rate*t,
// where rate is that of the compiled cost.
//
// Clock readings and TATs must be below 2^63 ns, about 292 years. Nothing here
// panics beyond it, but a time that does not fit in 64 bits is then refused.
package limit

// Params is a rate and a burst as the limiter uses them. The zero value limits
// nothing. Compile makes Params.
type Params struct {
	Cost      uint64 // time that one unit costs, whole ns
	CostFrac  uint32 // and its fraction, 2^-32 ns
	Burst     uint64 // time that a whole burst costs, whole ns, at most 2^61
	BurstFrac uint32 // and its fraction, 2^-32 ns
}

// State is what the limiter remembers of a source. The zero value is a source
// that has been idle. A State has no lock: callers that share one must
// serialise Take and Adopt.
type State struct {
	TAT   uint64 // theoretical arrival time, whole ns
	Phase uint32 // and its fraction, 2^-32 ns
}

// IsZero reports whether p limits nothing.
func (p Params) IsZero() bool { return p.Cost == 0 && p.CostFrac == 0 }

// Fits reports whether n units (1 for a packet, its length for bytes) may pass
// at time now. If now goes backwards it admits no more than it would have at
// the latest now.
func (p Params) Fits(s State, n, now uint64) bool {
	_, ok := p.charge(s, n, now)
	return ok
}

// Take is Fits, and charges the n units to s if they fit. Otherwise s does not
// change: what is refused costs nothing.
func (p Params) Take(s *State, n, now uint64) bool {
	next, ok := p.charge(*s, n, now)
	if ok {
		*s = next
	}
	return ok
}

// Adopt carries s over to p after a change of the limit at time now: debt
// beyond the new burst is forgiven, so that a source that was far ahead under
// the old limit does not have to wait longer than the new one can mean.
func (p Params) Adopt(s *State, now uint64) {
	// Compares debts instead of times: now + Burst could overflow.
	if s.TAT > now && s.TAT-now > p.Burst {
		s.TAT = now + p.Burst
	}
	// A fraction on top of now + Burst could be beyond the burst, and one
	// rule for all is simpler in the kernel: less than 1 ns is forgiven.
	s.Phase = 0
}

// charge returns s after n units at time now, and whether they fit.
func (p Params) charge(s State, n, now uint64) (State, bool) {
	if p.IsZero() {
		return s, true
	}
	price, ok := p.cost().times(n)
	if !ok {
		return s, false
	}
	end, ok := s.from(now).plus(price)
	if !ok {
		return s, false
	}
	debt := fixed{end.ns - now, end.frac}
	return State{TAT: end.ns, Phase: end.frac}, debt.atMost(p.burst())
}

// from returns the time from which a charge at time now counts: the TAT, or now
// if that has passed. TAT == now keeps its fraction, which has not passed yet.
func (s State) from(now uint64) fixed {
	if s.TAT < now {
		return fixed{ns: now}
	}
	return fixed{s.TAT, s.Phase}
}

func (p Params) cost() fixed  { return fixed{p.Cost, p.CostFrac} }
func (p Params) burst() fixed { return fixed{p.Burst, p.BurstFrac} }

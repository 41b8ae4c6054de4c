// Package limit has the limits of both halves of headgate, as pure functions of a
// state and a clock reading, without a lock or a clock of their own.
//
// For HTTP requests, a limit is an Algorithm: Leaky (the default), Window or
// Sliding. Packages nginx and resty below this one have those of other programs,
// and package keyed keeps the state of each key.
//
// For packets, it is Limit and Bucket, which are two Params and two States. They
// are the executable specification of the kernel's limiter: what the XDP program
// does to a bucket, bit for bit. bpf/include/gcra.h and bpf/include/bucket.h are
// the same in C; package heat is about which sources have a bucket. Leaky is on the
// same State and compiles to the same costs.
//
// The algorithm of Params and of Leaky is the generic cell rate algorithm (GCRA)
// in its virtual scheduling form, from ITU-T I.371 and ATM Forum Traffic
// Management 4.0. A bucket holds one theoretical arrival time (TAT). Each unit
// that passes moves it ahead by the cost of one unit; a unit passes if the debt,
// which is how far the TAT is ahead of now, would then be at most the burst.
// Times are counted in ticks of 2^-Shift ns, so that a byte at 400Gbit/s costs a
// whole number too.
//
// It admits exactly what a token bucket with real-valued tokens admits: a
// burst of B units from an idle source, and over any time t at most B + rate*t.
//
// # Wrap
//
// Ticks are counted modulo 2^64, so they come round after 2^(64-Shift) ns: 584
// years at shift 0, 3.2 days at shift 16, which only limits above some
// 64Gbit/s per source use. A source that was idle for a multiple of that, to
// within the burst time and ClockSlack, finds an old debt again. That errs on the
// strict side, for at most the burst time and ClockSlack.
//
// # What it leaves out
//
// CPUs share a bucket. So the program changes a TAT by compare-and-swap, and gives
// a charge back if another CPU used up the rest of a limit between asking and
// charging. Functions of a state that nobody else touches need neither.
package limit

import "math/bits"

// ClockSlack is how long, in ns, a CPU may take from reading the clock to using a
// bucket (17 s; it may be a virtual one that is stopped meanwhile). Others charge
// in that time, so that it finds a debt above the burst. Without the slack it
// would take that for a TAT in the past, and forgive all of it.
const ClockSlack = 1 << 34

// MaxShift is the largest Shift. It keeps the rate within 0.1 % up to
// 400Gbit/s and ClockSlack far below the largest burst.
const MaxShift = 16

// Params is a rate and a burst as the limiter uses them. The zero value limits
// nothing. Compile makes Params. With any others nothing panics, but where 64
// bits overflow the C may decide otherwise.
type Params struct {
	Cost  uint64 // of one unit, in ticks; 0 for no limit
	Burst uint64 // the largest debt, in ticks, at most 2^62
	Shift uint8  // a tick is 2^-Shift ns; at most MaxShift
}

// State is what the limiter remembers of a source. Fresh makes the one of an
// idle source; the zero value is that only at time 0. A State has no lock:
// callers that share one must serialise Take.
type State struct {
	TAT uint64 // theoretical arrival time, in ticks modulo 2^64
}

// IsZero reports whether p limits nothing.
func (p Params) IsZero() bool { return p.Cost == 0 }

// Fresh returns the state of a source that is first seen at time now (ns).
func (p Params) Fresh(now uint64) State { return State{TAT: p.ticks(now)} }

// Fits reports whether n units (1 for a packet, its length for bytes) may pass
// at time now (ns). If now goes backwards, by at most ClockSlack, it admits no
// more than it would have at the latest now. No units, or no limit, always fit.
func (p Params) Fits(s State, n, now uint64) bool {
	charge, ok := p.charge(n)
	return ok && (charge == 0 || p.debt(s, now) <= p.Burst-charge)
}

// Take is Fits, and charges the n units to s if they fit. Otherwise s does not
// change: what is refused costs nothing.
func (p Params) Take(s *State, n, now uint64) bool {
	if !p.Fits(*s, n, now) {
		return false
	}
	if charge, _ := p.charge(n); charge != 0 {
		s.TAT = p.ticks(now) + p.debt(*s, now) + charge
	}
	return true
}

// Convert carries s, in ticks of 2^-was ns, over to p after a change of the
// limit at time now (ns). The debt stays the same time, rounded up to a tick. A
// debt beyond p's burst is cut to that, so that a source that was far ahead
// under the old limit waits no longer than the new one can mean.
//
// The old burst is not known here, so that whatever the largest burst could be
// counts as a debt: a source that was idle for longer than three quarters of a
// wrap of the old ticks begins with the new burst spent.
func (p Params) Convert(s State, was uint8, now uint64) State {
	debt := s.TAT - now<<was
	if debt > maxBurst+ClockSlack<<was {
		return p.Fresh(now)
	}
	if p.Shift >= was {
		by := p.Shift - was
		if debt > p.Burst>>by { // shifting it first could overflow
			debt = p.Burst
		} else {
			debt <<= by
		}
	} else {
		by := was - p.Shift
		debt = (debt + 1<<by - 1) >> by
	}
	return State{TAT: p.ticks(now) + min(debt, p.Burst)}
}

// charge returns what n units cost, and false if that is more than the burst.
func (p Params) charge(n uint64) (uint64, bool) {
	if p.IsZero() {
		return 0, true
	}
	high, low := bits.Mul64(p.Cost, n)
	return low, high == 0 && low <= p.Burst
}

// debt returns how far the TAT is ahead of now, 0 if it has passed.
func (p Params) debt(s State, now uint64) uint64 {
	debt := s.TAT - p.ticks(now)
	if debt > p.Burst+ClockSlack<<p.Shift {
		return 0
	}
	return debt
}

func (p Params) ticks(now uint64) uint64 { return now << p.Shift }

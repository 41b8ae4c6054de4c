package redisstore

import (
	"math"
	"math/bits"
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// state is what the scripts tell of a key at an instant; the zero value is that of one never seen. All numbers are below 2^53.
type state struct {
	// x is what is owed, of leaky, in ticks; of windows the units in the current one; of concurrent the places that are taken.
	x uint64
	y uint64 // the units of the period before, of sliding
	// left is how many µs the window or period lasts.
	left uint64
}

// after returns s some µs later, if nothing is charged meanwhile.
func (t *terms) after(s state, micros uint64) state {
	switch t.kind {
	case leaky:
		high, drained := bits.Mul64(micros, t.q)
		if high != 0 || drained >= s.x {
			return state{}
		}
		s.x -= drained
	case window, sliding:
		switch {
		case micros < s.left:
			s.left -= micros
		case t.kind == sliding && s.x > 0 && micros-s.left < t.q:
			return state{y: s.x, left: t.q - (micros - s.left)}
		default:
			return state{}
		}
	}
	return s
}

// take charges n units to s if they fit, and tells what limit.Algorithm.Take does, in times that are rounded up to µs.
func (t *terms) take(s state, n uint64) (state, limit.Result) {
	switch t.kind {
	case leaky:
		return t.takeLeaky(s, n)
	case window:
		return t.takeWindow(s, n)
	case sliding:
		return t.takeSliding(s, n)
	default:
		return t.takePlaces(s, n)
	}
}

// takeLeaky is limit.Leaky.Take in ticks of which rate and µs are whole numbers.
func (t *terms) takeLeaky(s state, n uint64) (state, limit.Result) {
	r := limit.Result{Limit: t.most}
	thousandths, units := t.owed(s.x)
	if r.Excess = math.MaxUint64; n < bounded {
		r.Excess = max(thousandths+n*1000, 1000) - 1000
	}
	switch total := s.x + min(n, t.most)*t.p; {
	case n > t.most:
		r.RetryAfter = limit.Never
	case n > 0 && total > t.r:
		r.RetryAfter = t.drains(total - t.r)
	default:
		r.Allowed = true
		if n > 0 {
			r.Delay = t.drains(total - min(total, t.prompt))
		}
		s.x, units = total, units+n
	}
	r.ResetAfter = t.drains(s.x)
	if units = min(units, t.most); units > 0 {
		r.NextAfter = t.drains(s.x - (units-1)*t.p)
	}
	r.Remaining = t.most - units
	return s, r
}

// bounded is a number whose thousandths are far from overflowing.
const bounded = 1 << 53

// owed returns what is owed in thousandths of a unit and in units, rounded up.
func (t *terms) owed(ticks uint64) (thousandths, units uint64) {
	thousandths = (ticks*1000 + t.p - 1) / t.p
	return thousandths, (thousandths + 999) / 1000
}

// drains returns how long it takes until so much has drained.
func (t *terms) drains(ticks uint64) time.Duration { return micros((ticks + t.q - 1) / t.q) }

// takeWindow is limit.Window.Take, at the time 0 of a clock that begins now.
func (t *terms) takeWindow(s state, n uint64) (state, limit.Result) {
	w, err := limit.NewWindow(t.p, micros(t.q))
	if err != nil {
		return s, limit.Result{} // termsOf makes no such
	}
	var counted limit.WindowState
	if s.x > 0 {
		counted = limit.WindowState{Start: micros(s.left) - micros(t.q), Count: s.x}
	}
	r := w.Take(&counted, n, 0)
	if r.Allowed && n > 0 {
		s = state{x: counted.Count, left: uint64((counted.Start + micros(t.q)) / time.Microsecond)}
	}
	return s, r.WithUndo(0, 0)
}

// takeSliding is limit.Sliding.Take, likewise.
func (t *terms) takeSliding(s state, n uint64) (state, limit.Result) {
	l, err := limit.NewSliding(t.p, micros(t.q))
	if err != nil {
		return s, limit.Result{}
	}
	var counted limit.SlidingState
	if s.x > 0 || s.y > 0 {
		counted = limit.SlidingState{Tick: micros(s.left) - micros(t.q), Curr: s.x, Prev: s.y}
	}
	r := l.Take(&counted, n, 0)
	if r.Allowed && n > 0 {
		s = state{x: counted.Curr, y: counted.Prev, left: uint64((counted.Tick + micros(t.q)) / time.Microsecond)}
	}
	r.RetryAfter, r.NextAfter, r.ResetAfter = whole(r.RetryAfter), whole(r.NextAfter), whole(r.ResetAfter)
	return s, r.WithUndo(0, 0)
}

// takePlaces is what keyed.Slots says.
func (t *terms) takePlaces(s state, n uint64) (state, limit.Result) {
	free := t.most - min(s.x, t.most)
	r := limit.Result{Limit: t.most, Remaining: free}
	switch {
	case n <= free:
		r.Allowed = true
		r.Remaining -= n
		s.x += n
	case n > t.most:
		r.RetryAfter = limit.Never
	default:
		r.RetryAfter = 1
	}
	return s, r
}

func micros(n uint64) time.Duration { return time.Duration(n) * time.Microsecond }

// whole rounds a time up to µs. limit.Never stays that.
func whole(d time.Duration) time.Duration {
	if d == limit.Never {
		return d
	}
	return (d + time.Microsecond - 1) / time.Microsecond * time.Microsecond
}

// Package theory says how much of what a source sent a limit admits, of which is known only in which
// window of time it arrived. Nothing of it depends on luck: a machine that stalls gets wider bounds.
package theory

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// ClockError is how far two clocks of this machine may be apart over the few seconds of a demo, when one
// of them is being adjusted, and one by us.
const ClockError = 50 * time.Microsecond

// Window is a time in which units arrived, in ns of the boot clock: none before Start, none after
// End. When each of them did, nobody knows.
type Window struct{ Start, End int64 }

// Range is how many units theory admits.
type Range struct {
	Least uint64 `json:"least"`
	Most  uint64 `json:"most"`
}

// Exactly is the range of one number.
func Exactly(n uint64) Range { return Range{n, n} }

// Contains reports whether n is in the range.
func (r Range) Contains(n uint64) bool { return r.Least <= n && n <= r.Most }

// String returns "105", or "100 to 105".
func (r Range) String() string {
	if r.Least == r.Most {
		return strconv.FormatUint(r.Least, 10)
	}
	return fmt.Sprintf("%d to %d", r.Least, r.Most)
}

// Theory says how many units of one source a limit admits.
type Theory struct{ low, high envelope }

// New returns the theory of a source that has been idle up to now, in ns of the boot clock.
func New(p limit.Params, now int64) *Theory {
	idle := envelope{params: p, at: now - ClockError.Nanoseconds(), potential: int64(p.Burst)}
	return &Theory{low: idle, high: idle}
}

// Arrive takes note of units: least is how many of them the limit was asked about for sure, and
// most how many at most. A rule that may have ended meanwhile makes the difference.
func (t *Theory) Arrive(least, most int, w Window) {
	w = Window{w.Start - ClockError.Nanoseconds(), w.End + ClockError.Nanoseconds()}
	t.low.worst(int64(least), w)
	t.high.best(int64(most), w)
}

// Room returns how many units are admitted for sure from now on.
func (t *Theory) Room(now int64) int {
	early := now - ClockError.Nanoseconds()
	return max(0, int(t.low.potentialAt(early)/t.low.cost()-t.low.admitted))
}

// Credit returns how many units may be admitted at once at a time.
func (t *Theory) Credit(at int64) float64 {
	return float64(t.high.potentialAt(at)-t.high.admitted*t.high.cost()) / float64(t.high.cost())
}

// Bounds returns how many units were admitted at least and at most since the last change.
func (t *Theory) Bounds() Range { return Range{uint64(t.low.admitted), uint64(t.high.admitted)} }

// Change has another limit, or the same, decide from now on, and counts from 0. The debt of the
// source stays, in time, up to the new burst.
func (t *Theory) Change(p limit.Params) {
	least := t.low.potential - t.high.admitted*t.low.cost()
	most := t.high.potential - t.low.admitted*t.high.cost()
	t.low = t.low.changed(p, max(least, 0))
	t.high = t.high.changed(p, min(most, t.high.burst()))
}

// envelope is one edge of what a bucket may have done. It holds how many units were admitted, and
// the potential: those, and what could be admitted at once besides, in ticks. Time raises the
// potential at the rate of the limit, up to a burst above what was admitted; a unit is admitted
// where the potential has room for it. Every step is monotone in both values, so that a lower edge
// stays below what really happens, and an upper edge above.
type envelope struct {
	params    limit.Params
	at        int64 // ns of the boot clock
	admitted  int64
	potential int64 // ticks
}

func (e *envelope) cost() int64  { return int64(e.params.Cost) }
func (e *envelope) burst() int64 { return int64(e.params.Burst) }

// full is the potential of a bucket without debt.
func (e *envelope) full() int64 { return e.admitted*e.cost() + e.burst() }

// potentialAt returns the potential at a time, if nothing arrives up to then. Uncertain windows may
// overlap a little; then the time is earlier than e.at, and the potential less.
func (e *envelope) potentialAt(at int64) int64 {
	return min(e.potential+(at-e.at)<<e.params.Shift, e.full())
}

func (e *envelope) wait(at int64) {
	e.potential = e.potentialAt(at)
	e.at = at
}

func (e *envelope) admit(n, potential int64) {
	e.admitted = max(e.admitted, min(e.admitted+n, potential/e.cost()))
}

// worst has n units arrive when it is worst for them: for being admitted at the start, for a bucket
// that runs full meanwhile at the end.
func (e *envelope) worst(n int64, w Window) {
	early := e.potentialAt(w.Start)
	e.wait(w.End)
	e.admit(n, early)
}

// best has n units arrive when it is best for them: spread, so that nothing runs over.
func (e *envelope) best(n int64, w Window) {
	e.wait(w.Start)
	e.potential += (w.End - w.Start) << e.params.Shift
	e.at = w.End
	e.admit(n, e.potential)
	e.potential = min(e.potential, e.full())
}

// changed returns the edge under another limit. credit is what could be admitted at once, in ticks of
// the old one.
func (e *envelope) changed(p limit.Params, credit int64) envelope {
	next := envelope{params: p, at: e.at}
	// Rounding is by less than a tick, far below the clock error.
	debt := math.Ldexp(float64(e.burst()-credit), int(p.Shift)-int(e.params.Shift))
	next.potential = next.burst() - min(int64(debt), next.burst())
	return next
}

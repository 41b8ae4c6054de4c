package demo

import (
	"math"
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// clockError is by how much two readings of the boot clock may contradict each other, one by the
// kernel's program, which must not wait for a clock that is just being adjusted, and one by us.
const clockError = 50 * time.Microsecond

// window is a time in which packets arrived, in ns of the boot clock: none before start, none after
// end. When each of them did, nobody knows.
type window struct{ start, end int64 }

// envelope is one edge of what a bucket may have done. It holds how many packets were admitted, and
// the potential: those, and what could be admitted at once besides, in ticks. Time raises the
// potential at the rate of the limit, up to a burst above what was admitted; a packet is admitted
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

// worst has n packets arrive when it is worst for them: for being admitted at the start, for a bucket
// that runs full meanwhile at the end.
func (e *envelope) worst(n int64, w window) {
	early := e.potentialAt(w.start)
	e.wait(w.end)
	e.admit(n, early)
}

// best has n packets arrive when it is best for them: spread, so that nothing runs over.
func (e *envelope) best(n int64, w window) {
	e.wait(w.start)
	e.potential += (w.end - w.start) << e.params.Shift
	e.at = w.end
	e.admit(n, e.potential)
	e.potential = min(e.potential, e.full())
}

// theory says how many packets of one source a limit admits. It knows of each packet only a window
// of time in which it arrived.
type theory struct{ low, high envelope }

// newTheory returns the theory of a source that has been idle up to now.
func newTheory(p limit.Params, now int64) *theory {
	idle := envelope{params: p, at: now - clockError.Nanoseconds(), potential: int64(p.Burst)}
	return &theory{low: idle, high: idle}
}

// arrive takes note of packets: least is how many of them the limit was asked about for sure, and
// most how many at most. A rule that may have ended meanwhile makes the difference.
func (t *theory) arrive(least, most int, w window) {
	w = window{w.start - clockError.Nanoseconds(), w.end + clockError.Nanoseconds()}
	t.low.worst(int64(least), w)
	t.high.best(int64(most), w)
}

// room returns how many packets are admitted for sure from now on.
func (t *theory) room(now int64) int {
	early := now - clockError.Nanoseconds()
	return max(0, int(t.low.potentialAt(early)/t.low.cost()-t.low.admitted))
}

// bounds returns how many packets were admitted at least and at most since the last change.
func (t *theory) bounds() (least, most uint64) {
	return uint64(t.low.admitted), uint64(t.high.admitted)
}

// change has another limit, or the same, decide from now on, and counts from 0. The debt of the
// source stays, in time, up to the new burst.
func (t *theory) change(p limit.Params) {
	least := t.low.potential - t.high.admitted*t.low.cost()
	most := t.high.potential - t.low.admitted*t.high.cost()
	t.low = t.low.changed(p, max(least, 0))
	t.high = t.high.changed(p, min(most, t.high.burst()))
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

package limit

import (
	"fmt"
	"math"
	"time"

	"github.com/headgate/headgate/userspace/rate"
)

// Window is a fixed window: so many units per time, counted from the first that
// is charged, as INCR and EXPIRE do it in Redis, and resty.limit.count. At the
// instant when the window ends, the next may begin. Around that instant twice
// the count may pass; Leaky and Sliding are stricter. What is refused costs
// nothing and does not make a window longer.
//
// NewWindow makes a Window. The zero value admits nothing. If now goes back, the
// window goes on: no more is admitted than at the latest now.
type Window struct {
	count uint64
	per   time.Duration
}

// WindowState is the state of a key under a Window. The zero value is that of a
// key never seen.
type WindowState struct {
	Start time.Duration // when the first unit of the window was charged
	Count uint64        // the units charged since; 0 if there is no window
}

var _ Algorithm[WindowState] = Window{}

// NewWindow returns the Window of count units per time. It returns an error if
// count is 0 (wrapping rate.ErrZero) or more than 2^63-1, or if per is not
// positive.
func NewWindow(count uint64, per time.Duration) (Window, error) {
	if err := checkQuota(count, per); err != nil {
		return Window{}, err
	}
	return Window{count, per}, nil
}

func checkQuota(count uint64, per time.Duration) error {
	switch {
	case count == 0:
		return fmt.Errorf("limit of 0 per %s: %w", per, rate.ErrZero)
	case count > math.MaxInt64:
		return fmt.Errorf("limit of %d per %s: too many; use at most %d", count, per, uint64(math.MaxInt64))
	case per <= 0:
		return fmt.Errorf("limit of %d per %s: the time must be longer than 0", count, per)
	default:
		return nil
	}
}

// Fresh implements Algorithm.
func (w Window) Fresh(time.Duration) WindowState { return WindowState{} }

// Take implements Algorithm.
func (w Window) Take(s *WindowState, n uint64, now time.Duration) (r Result) {
	found := w.current(*s, now)
	r.Allowed = n <= w.count-min(found.Count, w.count)
	if r.Allowed && n != 0 {
		opens := found.Count == 0
		if opens {
			found.Start = now
		}
		found.Count += n
		r.undo = undoQuota(found.Start, n, opens)
		*s = found
	}
	left := w.left(found, now)
	r.Limit, r.Remaining = w.count, w.count-min(found.Count, w.count)
	r.NextAfter, r.ResetAfter = left, left
	switch {
	case n > w.count:
		r.RetryAfter = Never
	case !r.Allowed:
		r.RetryAfter = left
	}
	return r
}

// Refund implements Algorithm: while the window lasts. It reports false for the
// charge that began the window if others followed, because without it the window
// would have begun, and would end, later. Of two calls with the same r both take
// back units, as nothing tells charges of the same window apart.
func (w Window) Refund(s *WindowState, r Result, now time.Duration) bool {
	start, n, opened := r.undo.quota()
	found := w.current(*s, now)
	if n == 0 || found.Start != start || found.Count < n || opened && found.Count > n {
		return false
	}
	found.Count -= n
	if found.Count == 0 {
		found = WindowState{}
	}
	*s = found
	return true
}

// Debt implements Algorithm.
func (w Window) Debt(s WindowState, now time.Duration) time.Duration {
	return w.left(w.current(s, now), now)
}

// Owed implements Algorithm.
func (w Window) Owed(s WindowState, now time.Duration) uint64 {
	return thousandths(w.current(s, now).Count)
}

// current returns s if its window lasts, else the zero value.
func (w Window) current(s WindowState, now time.Duration) WindowState {
	if s.Count == 0 || now >= after(s.Start, w.per) {
		return WindowState{}
	}
	return s
}

// left returns how long the window of s lasts, which is current.
func (w Window) left(s WindowState, now time.Duration) time.Duration {
	if s.Count == 0 {
		return 0
	}
	return until(after(s.Start, w.per), now)
}

// undoQuota keeps a charge of n units, fewer than 2^63, in the words of undo,
// with the start of what they were counted in and whether they began it.
func undoQuota(start time.Duration, n uint64, opens bool) undo {
	n <<= 1
	if opens {
		n |= 1
	}
	return undo{before: uint64(start), after: n}
}

// quota returns what undoQuota kept: no units if nothing was charged.
func (u undo) quota() (start time.Duration, n uint64, opened bool) {
	return time.Duration(u.before), u.after >> 1, u.after&1 != 0
}

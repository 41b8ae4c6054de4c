package limit

import "time"

// Never is the RetryAfter of what no waiting makes fit: more units than the
// limit admits at once.
const Never time.Duration = -1

// Result is what a limiter says of n units of one key.
type Result struct {
	// Allowed reports whether the units may pass. They were charged if so, and
	// otherwise nothing was, and the other fields tell the state that was found.
	Allowed bool
	// Zone is the name of the limiter.
	Zone string
	// Delay is how long the units must wait before they go on, to leave no
	// faster than the rate. 0 if they may go on at once, or are refused.
	Delay time.Duration
	// Limit is how many units an idle key may send at one instant.
	Limit uint64
	// Remaining is how many more units would be allowed at this instant,
	// those that are delayed included. At most Limit.
	Remaining uint64
	// NextAfter is the time until Remaining is larger, 0 if it is Limit.
	NextAfter time.Duration
	// ResetAfter is the time until the key is as one never seen, 0 if it is.
	ResetAfter time.Duration
	// RetryAfter is the shortest time after which the units would be allowed if
	// nothing else is charged: 0 if they were, Never if they are more than Limit.
	RetryAfter time.Duration
	// Excess is by how many thousandths of a unit the key is ahead of its rate,
	// the units included, also where they are refused. It is what nginx logs as
	// excess. 0 for limiters that have no such measure.
	Excess uint64

	undo undo
}

// undo is what an algorithm needs to take a charge back. What the words mean is
// the algorithm's own.
type undo struct {
	before, after uint64
}

// WithUndo returns r with two words that Undo returns, for limiters of other
// packages, which have to know later what they charged.
func (r Result) WithUndo(before, after uint64) Result {
	r.undo = undo{before, after}
	return r
}

// Undo returns the words of WithUndo, zeros without it.
func (r Result) Undo() (before, after uint64) { return r.undo.before, r.undo.after }

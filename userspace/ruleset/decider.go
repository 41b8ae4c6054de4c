package ruleset

import "time"

// Decider is what every front asks about requests: a Set, or one that can be replaced while it
// decides, or one that also tells others what it decides.
type Decider interface {
	// Decide is Set.Decide. r is not kept: its memory is used again.
	Decide(r *Request, now time.Duration) *Decision
}

var _ Decider = (*Set)(nil)

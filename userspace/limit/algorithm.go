package limit

import "time"

// Algorithm is one limit: how it decides about a key whose state is an S. It is
// a value without a lock; callers that share a state must serialise.
//
// All methods take now as the time since an instant that the caller fixes once,
// by a clock that does not go back (package keyed makes one of a clock that
// does). They depend on nothing else, so that a test or a replay can be at any
// moment it likes.
type Algorithm[S any] interface {
	// Fresh returns the state of a key that is first seen at now.
	Fresh(now time.Duration) S
	// Take charges n units to s at now if they may pass. Otherwise s does not
	// change: what is refused costs nothing. No units always pass and say what
	// the state is. To look without charging, take from a copy.
	Take(s *S, n uint64, now time.Duration) Result
	// Refund takes back the charge that gave r, and reports true, if s can be
	// made what it would be without that charge. Otherwise it changes nothing.
	Refund(s *S, r Result, now time.Duration) bool
	// Debt returns how long after now s will be what Fresh makes, 0 if it is
	// already: then nothing is lost if s is forgotten.
	Debt(s S, now time.Duration) time.Duration
	// Owed returns how many thousandths of a unit s is ahead of the rate at now, of what counts in windows
	// those that still count: what keys are compared by. 0 of what Fresh makes.
	Owed(s S, now time.Duration) uint64
}

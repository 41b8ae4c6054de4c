// Package seldom keeps what others can make happen as often as they like from filling the log.
package seldom

import (
	"sync"
	"time"
)

// Interval is how often one thing is logged at most.
const Interval = time.Second

// Event is something that is logged once an Interval at most. Its zero value is ready; all of its methods may be called at the
// same time.
type Event struct {
	mu     sync.Mutex
	next   time.Time
	silent uint64 // since the last line
}

// Now notes that it happened. It reports whether to log that, as nothing was logged for so long, and how often it
// happened since the last line, this time included.
func (e *Event) Now() (times uint64, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.silent++
	now := time.Now()
	if now.Before(e.next) {
		return 0, false
	}
	times, e.silent = e.silent, 0
	e.next = now.Add(Interval)
	return times, true
}

package gateway

import (
	"sync"
	"time"
)

// seldom says when to log what others can make happen as often as they like: once an interval. Its
// zero value is ready; all of its methods may be called at the same time.
type seldom struct {
	mu     sync.Mutex
	next   time.Time
	silent uint64 // since the last line
}

// seldomInterval is how often one thing is logged.
const seldomInterval = time.Second

// now reports whether to log, and how often it happened since the last line was logged, this time included.
func (s *seldom) now() (times uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent++
	now := time.Now()
	if now.Before(s.next) {
		return 0, false
	}
	times, s.silent = s.silent, 0
	s.next = now.Add(seldomInterval)
	return times, true
}

package agent

import (
	"sync/atomic"
	"time"
)

// sampling is the time between two events of one kind.
const sampling = 100 * time.Millisecond

// sampler lets one of many events through now and then, and counts the others. The zero value is ready.
type sampler struct {
	seen atomic.Uint64 // since the last that was let through
	next atomic.Int64
}

// sample counts an event. It returns how many there were since the last time that it returned a number, or 0 if it is
// too early for one.
func (s *sampler) sample(now time.Duration) uint64 {
	s.seen.Add(1)
	next := s.next.Load()
	if int64(now) < next || !s.next.CompareAndSwap(next, int64(now+sampling)) {
		return 0
	}
	return s.seen.Swap(0)
}

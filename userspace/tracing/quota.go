package tracing

import (
	"sync"
	"time"
)

// askedPerSecond is how many spans a second are made because requests say so. Anybody can say
// that, and a span costs more than a refusal.
const askedPerSecond = 1000

// quota counts by seconds of the clock. Twice as many at the edge of two do no harm.
type quota struct {
	mu     sync.Mutex
	second int64
	left   int
}

func (q *quota) take(now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if second := now.Unix(); second != q.second {
		q.second, q.left = second, askedPerSecond
	}
	if q.left == 0 {
		return false
	}
	q.left--
	return true
}

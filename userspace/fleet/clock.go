package fleet

import (
	"sync"
	"time"
)

// clock relates the clock of Redis, by which rules end, to the monotonic one of this process. What the clock of this
// machine shows does not matter. The zero value is ready.
type clock struct {
	mu    sync.Mutex
	redis int64     // ms
	here  time.Time // when Redis' clock showed that; zero until something was learned
}

// learn notes an answer of Redis: it was asked and answered in between.
func (c *clock) learn(redis int64, sent, got time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.redis, c.here = redis, sent.Add(got.Sub(sent)/2)
}

// most bounds times, so that no arithmetic overflows.
const most = 100 * 365 * 24 * time.Hour

// when returns when Redis' clock shows so many ms. Something must have been learned.
func (c *clock) when(redis int64) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ms := min(max(redis-c.redis, -most.Milliseconds()), most.Milliseconds())
	return c.here.Add(time.Duration(ms) * time.Millisecond)
}

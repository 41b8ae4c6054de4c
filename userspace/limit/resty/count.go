package resty

import (
	"fmt"
	"math"
	"time"
)

// Count limits how many requests of a key there are in a window, as resty.limit.count. A window begins with
// the first request of a key, and is over, with all that was counted in it, at its end.
//
// As there, Incoming with commit counts what it rejects too, so that more of them must be taken back before
// one passes. In Combine, what is rejected is not counted.
type Count struct {
	*store
	limit  int64
	window time.Duration
}

// NewCount returns a Count for limit requests in a window. It fails if one of them is not above 0.
func NewCount(limit int64, window time.Duration, o Options) (*Count, error) {
	s, err := newStore(o)
	if err != nil {
		return nil, err
	}
	c := &Count{store: s}
	if err := c.SetLimit(limit); err != nil {
		return nil, err
	}
	if err := c.SetWindow(window); err != nil {
		return nil, err
	}
	return c, nil
}

// SetLimit changes the limit of windows that begin from now on. It fails, and changes nothing, where NewCount would.
func (c *Count) SetLimit(limit int64) error {
	if limit <= 0 {
		return fmt.Errorf("resty: limit %d; use at least 1", limit)
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.limit = limit
	return nil
}

// SetWindow changes the length of windows that begin from now on. It fails, and changes nothing, where NewCount would.
func (c *Count) SetWindow(window time.Duration) error {
	if window <= 0 {
		return fmt.Errorf("resty: window %s; use at least 1ns", window)
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.window = window
	return nil
}

// Incoming says whether a request of key fits in its window, and counts it if commit is set.
func (c *Count) Incoming(key string, commit bool, now time.Duration) Result {
	return incoming(c, key, commit, now)
}

func (c *Count) incoming(key string, commit bool, now time.Duration) Result {
	known, running := c.running(key, now)
	if !running {
		known = record{n: c.limit, at: ending(now, c.window)}
	}
	known.n = max(known.n, math.MinInt64+1) - 1
	if commit {
		c.set(key, known, func(other record) bool { return now < time.Duration(other.at) })
	}
	if known.n < 0 {
		return Result{Rejected: true}
	}
	return Result{Remaining: known.n}
}

// running returns the record of a key whose window is not over.
func (c *Count) running(key string, now time.Duration) (record, bool) {
	known, found := c.get(key)
	return known, found && now < time.Duration(known.at)
}

// ending returns when a window that begins now is over, in ns; never if that is beyond the end of time.
func ending(now, window time.Duration) int64 {
	if now > math.MaxInt64-window {
		return math.MaxInt64
	}
	return int64(now + window)
}

// Uncommit takes a request back, and returns what remains then: the limit if no window of the key runs. What
// remains does not become more than the limit.
func (c *Count) Uncommit(key string, now time.Duration) (Result, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	known, running := c.running(key, now)
	if !running {
		return Result{Remaining: c.limit}, nil
	}
	if known.n < c.limit {
		known.n++
		c.set(key, known, nil)
	}
	return Result{Remaining: known.n}, nil
}

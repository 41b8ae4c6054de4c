package resty

import (
	"fmt"
	"time"
)

// Conn limits how many connections, or requests, of a key there are at a time, as resty.limit.conn: those
// above the limit are delayed by a multiple of what a request is known to take, those above the limit and
// the burst are rejected.
//
// Each that was charged must leave, once. The original counts below 0 if one leaves twice; here the second
// gets ErrNotFound. A key with no connection is forgotten.
type Conn struct {
	*store
	most, burst int64
	unit        float64 // delay, in seconds
}

// NewConn returns a Conn for most connections and a burst above that. delay is what a request is thought to
// take, until Conn learns it. It fails if most or delay is not above 0, or burst is below.
func NewConn(most, burst int64, delay time.Duration, o Options) (*Conn, error) {
	s, err := newStore(o)
	if err != nil {
		return nil, err
	}
	if delay <= 0 {
		return nil, fmt.Errorf("resty: connection delay %s; use at least 1ns", delay)
	}
	c := &Conn{store: s, unit: delay.Seconds()}
	if err := c.SetConn(most); err != nil {
		return nil, err
	}
	if err := c.SetBurst(burst); err != nil {
		return nil, err
	}
	return c, nil
}

// SetConn changes how many connections pass without delay, from the next call on. It fails, and changes
// nothing, where NewConn would.
func (c *Conn) SetConn(most int64) error {
	if most <= 0 {
		return fmt.Errorf("resty: %d connections; use at least 1", most)
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.most = most
	return nil
}

// SetBurst changes the burst from the next call on. It fails, and changes nothing, where NewConn would.
func (c *Conn) SetBurst(burst int64) error {
	if burst < 0 {
		return fmt.Errorf("resty: burst %d; use at least 0", burst)
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.burst = burst
	return nil
}

// Incoming says whether a connection of key may be made, and counts it if commit is set and it may.
func (c *Conn) Incoming(key string, commit bool, now time.Duration) Result {
	return incoming(c, key, commit, now)
}

func (c *Conn) incoming(key string, commit bool, _ time.Duration) Result {
	known, _ := c.get(key)
	conn := known.n + 1
	if conn-c.most > c.burst {
		return Result{Rejected: true}
	}
	if commit {
		c.set(key, record{n: conn}, owesConn)
	}
	result := Result{Conn: conn}
	if conn > c.most {
		result.Delay = seconds(c.unit * float64((conn-1)/c.most))
	}
	return result
}

// owesConn is true of all: a key without a connection is not kept.
func owesConn(record) bool { return true }

// Leaving counts a connection of key as gone, and returns how many are left, or ErrNotFound if there was none.
func (c *Conn) Leaving(key string) (Result, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.leave(key)
}

// LeavingAfter is Leaving, and lets Conn learn from how long the request took: what a request is known to take
// becomes the mean of that and of what it was.
func (c *Conn) LeavingAfter(key string, latency time.Duration) (Result, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	result, err := c.leave(key)
	if err == nil {
		c.unit = (max(latency, 0).Seconds() + c.unit) / 2
	}
	return result, err
}

// Uncommit is Leaving.
func (c *Conn) Uncommit(key string, _ time.Duration) (Result, error) { return c.Leaving(key) }

func (c *Conn) leave(key string) (Result, error) {
	known, found := c.get(key)
	if !found {
		return Result{}, ErrNotFound
	}
	known.n--
	if known.n == 0 {
		c.remove(key)
	} else {
		c.set(key, known, nil)
	}
	return Result{Conn: known.n}, nil
}

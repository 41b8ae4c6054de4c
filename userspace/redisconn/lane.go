package redisconn

import (
	"context"
	"runtime"
	"sync"
	"time"
)

const (
	// trips is how many round trips of a lane are under way at most: with one the server would wait while the answers are
	// read and the next calls written; more make trips of fewer calls.
	trips = 2
	// together is how many calls share a round trip at most, so that a script of another client's need not wait for long.
	together = 128
	// silence is how many time-outs may pass without an answer to anything before a server is left alone.
	silence = 3
	// patience is how many time-outs a round trip may take, at least leastPatience. Those who asked have long left; but a
	// connection whose answer comes late is worth keeping, and one that is new takes several round trips to be ready.
	patience      = 5
	leastPatience = 100 * time.Millisecond
)

// lane is a queue of calls to the servers, or to those of some slots.
type lane struct {
	conn   *Conn
	room   int      // how many may wait
	probes []string // a key for each call of a probe

	mu      sync.Mutex
	queue   []*waiter // those not under way, the oldest first
	flights [trips]flight
	waiting int       // calls that were not told yet
	heard   time.Time // when a round trip was last answered
	breaker breaker
	trip    time.Duration // mean of the last round trips
	nursed  bool          // a goroutine is about to find out whether servers answer again
	timer   *time.Timer   // calls expire at the deadline of the first that waits
	armed   bool          // the timer is set, to due
	due     time.Time
}

// flight is a round trip.
type flight struct {
	on      bool // a goroutine carries calls
	since   time.Time
	waiters []*waiter // those that have left are there too; none before it begins and when it has ended
	jobs    []*job
	era     int // of the breaker
}

func newLane(c *Conn, room int, probes []string) *lane {
	return &lane{conn: c, room: room, probes: probes, breaker: newBreaker(room)}
}

// enqueue takes a call that may wait for so long, unless it returns why not.
func (l *lane) enqueue(w *waiter, patience time.Duration) error {
	c := l.conn
	c.counts.calls.Add(1)
	now := time.Now()
	w.deadline = now.Add(patience)
	l.mu.Lock()
	err := l.admit(patience)
	if err != nil {
		l.mu.Unlock()
		c.counts.count(err)
		return err
	}
	l.queue = append(l.queue, w)
	l.waiting++
	if l.armed && w.deadline.Before(l.due) {
		l.due = w.deadline
		l.timer.Reset(time.Until(l.due))
	}
	l.arm()
	f := l.idle()
	if f != nil {
		f.on, f.since = true, now
	}
	l.mu.Unlock()
	if f != nil && !c.spawn(func() { l.fly(f) }) {
		l.close() // Close came between: it may not have seen this call
	}
	return nil
}

// admit returns why a call that may wait for so long cannot be taken now.
func (l *lane) admit(patience time.Duration) error {
	switch {
	case patience <= 0:
		return ErrTimeout
	case l.conn.ctx.Err() != nil:
		return ErrClosed
	case !l.breaker.admits(l.waiting):
		return ErrOpen
	case l.waiting >= l.room:
		return ErrBusy
	}
	return nil
}

// idle returns a flight that nobody carries, if there is one.
func (l *lane) idle() *flight {
	for i := range l.flights {
		if f := &l.flights[i]; !f.on {
			return f
		}
	}
	return nil
}

// fly carries calls until none is left.
func (l *lane) fly(f *flight) {
	for l.board(f) {
		ctx, cancel := context.WithTimeout(l.conn.ctx, max(patience*l.conn.timeout, leastPatience))
		l.conn.counts.roundTrips.Add(1)
		l.conn.transport.exchange(ctx, f.jobs)
		cancel()
		l.land(f)
		runtime.Gosched() // those who were told ask again, and come along: a third fewer round trips at 64 callers
	}
}

// board puts the oldest calls of the queue on a flight, and reports whether there are any.
func (l *lane) board(f *flight) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.queue), together)
	f.waiters, f.jobs = append(f.waiters[:0], l.queue[:n]...), f.jobs[:0]
	f.era = l.breaker.era
	for _, w := range f.waiters {
		f.jobs = append(f.jobs, &w.job)
	}
	l.dequeue(n)
	f.since, f.on = time.Now(), n > 0
	return f.on
}

// dequeue takes the oldest calls out of the queue.
func (l *lane) dequeue(n int) {
	rest := copy(l.queue, l.queue[n:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
}

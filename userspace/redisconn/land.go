package redisconn

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// aftermath is what has to be done when a lane's lock is free again.
type aftermath struct {
	told    []*waiter
	changed bool  // the breaker has another phase
	nurse   bool  // somebody has to find out whether servers answer again
	past    error // what the round trip before this one failed by, which did not
}

// land tells those who wait for a flight, and the breaker, what came of it.
func (l *lane) land(f *flight) {
	now := time.Now()
	fault := l.judge(f, now.Sub(f.since))
	l.mu.Lock()
	told := slices.DeleteFunc(f.waiters, func(w *waiter) bool { return w.left })
	for _, w := range told {
		w.reply, w.err = w.job.reply, w.job.err
		if w.err != nil && l.conn.ctx.Err() != nil {
			w.reply, w.err = "", ErrClosed
		}
	}
	l.waiting -= len(told)
	f.waiters = f.waiters[:0]
	a := aftermath{told: told}
	if ends := l.conn.ctx.Err() != nil; !ends && f.era == l.breaker.era { // what fails by its end says nothing of servers
		if fault == nil {
			a.past = l.breaker.cause
		}
		a.changed = l.record(fault, f.since, now)
	}
	l.settle(a)
}

// judge returns what a flight says against the servers: nil if they are well.
func (l *lane) judge(f *flight, took time.Duration) error {
	for _, j := range f.jobs {
		if isFault(j.err) {
			return j.err
		}
	}
	return l.conn.tooLate(took)
}

func (c *Conn) tooLate(took time.Duration) error {
	if took <= c.timeout {
		return nil
	}
	return fmt.Errorf("%w: it took %v, and may take %v", ErrTimeout, took.Round(100*time.Microsecond), c.timeout)
}

// record tells the breaker of a round trip, and reports whether that has another phase now.
func (l *lane) record(fault error, since, now time.Time) bool {
	if fault != nil {
		return l.breaker.fail(fault)
	}
	l.heard = now
	l.trip = mean(l.trip, now.Sub(since))
	return l.breaker.succeed()
}

// complain tells the breaker of a call that failed and was on no flight.
func (l *lane) complain(fault error) {
	l.mu.Lock()
	l.settle(aftermath{changed: l.breaker.phase == closed && l.breaker.fail(fault)})
}

// relieve tells the breaker of a call that was well and on no flight.
func (l *lane) relieve() {
	l.mu.Lock()
	cause := l.breaker.cause
	l.breaker.relieve()
	l.mu.Unlock()
	l.conn.watch.part(cause)
}

// mean returns the mean of the last values: a new one counts for an eighth.
func mean(of, value time.Duration) time.Duration {
	if of == 0 {
		return value
	}
	return of + (value-of)/8
}

// expire tells those whose time is up.
func (l *lane) expire() {
	now := time.Now()
	var a aftermath
	l.mu.Lock()
	for w := range l.flying() {
		if w.left = !w.deadline.After(now); w.left {
			a.told = append(a.told, w)
		}
	}
	l.queue = slices.DeleteFunc(l.queue, func(w *waiter) bool {
		late := !w.deadline.After(now)
		if late {
			a.told = append(a.told, w)
		}
		return late
	})
	for _, w := range a.told {
		w.err = ErrTimeout
	}
	l.waiting -= len(a.told)
	if len(a.told) > 0 && l.silent(now) {
		a.changed = l.breaker.open(ErrTimeout)
	}
	l.armed = false
	l.settle(a)
}

// flying are the calls under way that somebody waits for.
func (l *lane) flying() iter.Seq[*waiter] {
	return func(yield func(*waiter) bool) {
		for i := range l.flights {
			for _, w := range l.flights[i].waiters {
				if !w.left && !yield(w) {
					return
				}
			}
		}
	}
}

// silent reports whether nothing was answered for so long that the servers do not answer.
func (l *lane) silent(now time.Time) bool {
	for i := range l.flights {
		f := &l.flights[i]
		since := f.since
		if l.heard.After(since) {
			since = l.heard
		}
		if f.on && now.Sub(since) >= silence*l.conn.timeout {
			return true
		}
	}
	return false
}

// arm has the first call that waits expire at its deadline.
func (l *lane) arm() {
	if l.armed || l.waiting == 0 {
		return
	}
	l.armed, l.due = true, time.Now().Add(l.conn.timeout) // nobody waits longer
	for _, w := range l.queue {
		l.due = earlier(l.due, w.deadline)
	}
	for w := range l.flying() {
		l.due = earlier(l.due, w.deadline)
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(time.Until(l.due), l.expire)
		return
	}
	l.timer.Reset(time.Until(l.due))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// settle unlocks the lane, and does what is left to do. Where its servers are left alone, nobody stays in the queue.
func (l *lane) settle(a aftermath) {
	if l.breaker.phase == opened {
		for _, w := range l.queue {
			w.err = ErrOpen
		}
		a.told = append(a.told[:len(a.told):len(a.told)], l.queue...)
		l.waiting -= len(l.queue)
		l.dequeue(len(l.queue))
		a.nurse = !l.nursed
		l.nursed = true
	}
	l.arm()
	l.mu.Unlock()
	for _, w := range a.told {
		w.tell()
	}
	l.conn.watch.part(a.past)
	if a.changed {
		l.conn.watch.look()
	}
	if a.nurse {
		l.conn.spawn(l.nurse)
	}
}

// close tells all who wait.
func (l *lane) close() {
	l.mu.Lock()
	var told []*waiter
	for w := range l.flying() {
		w.left = true
		told = append(told, w)
	}
	told = append(told, l.queue...)
	l.dequeue(len(l.queue))
	for _, w := range told {
		w.err = ErrClosed
	}
	l.waiting -= len(told)
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	for _, w := range told {
		w.tell()
	}
}

package redisconn

import (
	"errors"
	"time"
)

// waiter is a call that somebody waits for.
type waiter struct {
	conn *Conn
	// job is the transport's while the call is under way, also when whoever asked has left. reply and err are what that
	// one is told.
	job      job
	reply    string
	err      error
	deadline time.Time
	ready    chan struct{}                 // gets an element when reply and err are set
	done     func(reply string, err error) // instead, of Start
	// left says that reply and err were set before the transport was done with the job. Its lane's lock guards it.
	left bool
}

// newWaiter returns one that has its own copy of a call.
func (c *Conn) newWaiter(call Call) *waiter {
	w, _ := c.waiters.Get().(*waiter)
	if w == nil {
		w = &waiter{conn: c, ready: make(chan struct{}, 1)}
	}
	w.job.set(call)
	return w
}

// free keeps a waiter for another call. Nobody may use it any more. One whose job the transport has is left to the
// garbage collector.
func (w *waiter) free() {
	if w.left {
		return
	}
	clear(w.job.text)
	w.job.reply, w.job.err = "", nil
	w.reply, w.err, w.done = "", nil, nil
	w.conn.waiters.Put(w)
}

// tell counts what came of a call, and tells whoever waits. The caller uses w no more.
func (w *waiter) tell() {
	w.conn.counts.count(w.err)
	if w.done == nil {
		w.ready <- struct{}{}
		return
	}
	done, reply, err := w.done, w.reply, w.err
	w.free()
	done(reply, err)
}

// count counts a call that has ended.
func (n *counts) count(err error) {
	switch {
	case err == nil:
	case errors.Is(err, ErrTimeout):
		n.timeouts.Add(1)
	case errors.Is(err, ErrOpen):
		n.leftAlone.Add(1)
	case errors.Is(err, ErrBusy):
		n.busy.Add(1)
	default:
		n.errors.Add(1)
	}
}

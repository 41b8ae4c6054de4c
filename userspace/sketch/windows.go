package sketch

import (
	"sync/atomic"
	"time"
)

// windows is the time cut into numbered windows. Goroutines agree about them without a lock: each step
// to the next window is prepared in the start that is not in use, and made by the number. Whoever finds
// a step half made completes it.
type windows struct {
	interval time.Duration
	aligned  bool
	number   atomic.Uint64
	// starts has the start of the window with the number, in ns, and beside it that of the one before,
	// or, while a step is made, of the one after. Each start is after the one before.
	starts [2]atomic.Int64
}

// at returns the number of the latest window, and how long ago it began.
func (w *windows) at(now time.Duration) (number uint64, past time.Duration) {
	number, start := w.latest()
	return number, since(start, now)
}

func (w *windows) latest() (number uint64, start time.Duration) {
	for {
		number = w.number.Load()
		start = time.Duration(w.starts[number&1].Load())
		if w.number.Load() == number { // otherwise start may be of a later window
			return number, start
		}
	}
}

// step returns the number of the window of now, and whether this call began it. It begins one window at
// most; call it again if it did.
func (w *windows) step(now time.Duration) (number uint64, began bool) {
	for {
		number, start := w.latest()
		past := since(start, now)
		if past < w.interval {
			return number, false
		}
		next := &w.starts[(number+1)&1]
		if before := next.Load(); before <= int64(start) {
			next.CompareAndSwap(before, int64(w.following(start, now)))
		}
		if w.number.CompareAndSwap(number, number+1) {
			return number + 1, true
		}
	}
}

// following returns where the window after the one that began at start begins. If that one is over for
// an interval or more, it is a window that nobody counted in, which is over now.
func (w *windows) following(start, now time.Duration) time.Duration {
	past := since(start, now)
	late := past % w.interval
	switch {
	case past-w.interval < w.interval && w.aligned:
		return start + w.interval
	case past-w.interval < w.interval:
		return now
	case w.aligned:
		return now - late - w.interval
	default:
		return now - w.interval
	}
}

// since returns how long after start now is. A now before start is that of a goroutine that read
// the clock before another began a window: it is in that window.
func since(start, now time.Duration) time.Duration {
	if now <= start {
		return 0
	}
	return now - start // both are at least 0 here
}

package e2e_test

import (
	"sync"
	"time"

	"github.com/headgate/headgate/test/netlab"
)

// flood sends a batch of frames, one of each kind in turn, again and again until it is stopped.
type flood struct {
	l      *lab
	frames [][]byte
	stop   chan struct{}
	done   chan struct{}

	mu   sync.Mutex
	sent uint64 // of each frame, since the last mark
	err  error
}

const (
	floodBatch = 10
	floodPause = 500 * time.Microsecond // so that the machine can do something else too
)

// startFlood starts a flood that ends with the test.
func (l *lab) startFlood(frames ...[]byte) *flood {
	f := &flood{l: l, frames: frames, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(f.done)
		for {
			select {
			case <-f.stop:
				return
			case <-time.After(floodPause):
				f.batch()
			}
		}
	}()
	l.tb.Cleanup(f.end)
	return f
}

// end stops the flood; it may be called again.
func (f *flood) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.stop:
	default:
		close(f.stop)
	}
}

func (f *flood) batch() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.locked()
}

func (f *flood) locked() {
	for range floodBatch {
		if err := f.l.sender.Send(f.frames...); err != nil {
			f.err = err
			return
		}
		f.sent++
	}
}

// mark ends one stretch of the flood and begins the next. It returns how many of each frame the
// stretch had, which begins and ends with a batch, and what arrived of them.
func (f *flood) mark() (sent uint64, arrived counts) {
	f.l.tb.Helper()
	mark, sent := f.cut()
	arrived, err := f.l.counter.Wait(f.l.tb.Context(), mark)
	if err != nil {
		f.l.tb.Fatal(err)
	}
	return sent, arrived
}

func (f *flood) cut() (netlab.Mark, uint64) {
	f.l.tb.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.locked()
	mark, err := f.l.sender.Mark()
	sent := f.sent
	f.sent = 0
	f.locked()
	if f.err != nil {
		err = f.err
	}
	if err != nil {
		f.l.tb.Fatal(err)
	}
	return mark, sent
}

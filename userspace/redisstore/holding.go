package redisstore

import (
	"math"
	"sync"
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// held is how long units that were taken in advance may be spent, of a window only while it lasts.
const held = time.Second

// holding is what this machine took in advance of a key that it is asked for often, and how often that is. Never more than Charge.Batch
// is held and asked for together: so M machines admit at most that many times M more than the limit in any time, and in a
// window nothing more.
type holding struct {
	mu    sync.Mutex
	asked limit.SlidingState

	terms terms
	units uint64 // that may be spent
	taken uint64 // that are asked for
	batch uint64 // the most of both
	end   time.Duration
	// number is another when none are left that were got before, so that none is put back that has ended.
	number uint64
	// state is that of the key as far as this machine knows at the time at, as if no more was charged than was spent.
	state state
	at    time.Duration

	seen time.Duration
}

func (h *holding) until() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen + held
}

// spend takes n units of those held, if they are enough, and returns the state before and the number for putBack. It counts how
// often it is asked.
func (h *holding) spend(t terms, n uint64, now time.Duration) (s state, number uint64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count(now)
	if !h.terms.alike(t) || now >= h.end {
		h.units = 0
	}
	if n > h.units {
		return state{}, 0, false
	}
	h.units -= n
	s = t.after(h.state, uint64(max(now-h.at, 0)/time.Microsecond))
	h.state, _ = h.terms.take(s, n) // what they were taken by allows them
	h.at = now
	return s, h.number, true
}

// putBack takes back that n units were spent. It reports false if they have ended.
func (h *holding) putBack(n, number uint64, now time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if number != h.number || now >= h.end {
		return false
	}
	h.units += min(n, h.batch-min(h.batch, h.units+h.taken))
	return true
}

// want returns how many units to ask for, at most up to batch, and counts on them until got: none if it was not asked as often in
// the last second.
func (h *holding) want(batch uint64, now time.Duration) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if often().Owed(h.asked, now)/1000 < batch {
		return 0
	}
	h.batch = batch
	n := batch - min(batch, h.units+h.taken)
	h.taken += n
	return n
}

// got says how many of the units that were wanted the store gave, at or after the time at; s is the state without them.
func (h *holding) got(t terms, wanted, n uint64, s state, at time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken -= wanted
	if n == 0 {
		return
	}
	end := at + held
	if t.kind == window {
		end = min(end, at+micros(s.left))
	}
	if !h.terms.alike(t) || h.units == 0 || at >= h.end {
		h.terms, h.units, h.end, h.state, h.at = t, 0, end, s, at
		h.number++
	}
	h.units += n
	h.end = min(h.end, end)
}

// count counts that somebody asked.
func (h *holding) count(now time.Duration) {
	h.seen = now
	often().Take(&h.asked, 1, now)
}

// often counts how often something is in a second.
func often() limit.Sliding {
	l, err := limit.NewSliding(math.MaxInt64, time.Second)
	if err != nil {
		panic(err) // it is a constant
	}
	return l
}

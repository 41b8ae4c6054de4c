package handdown

import (
	"net/netip"
	"sync"
	"time"
)

// candidate is a source that Run has to decide about, or to look at.
type candidate struct {
	prefix  netip.Prefix
	offence Offence       // the one that was too many
	count   int           // offences that it stands for
	since   time.Duration // when that was
	doubt   bool          // nothing of that: only whether the source has its rule is asked
}

// queue has candidates, up to a bound.
type queue struct {
	mu    sync.Mutex
	items []candidate
	most  int
	wake  chan struct{} // has something when there is something
}

func newQueue(most int) *queue { return &queue{most: most, wake: make(chan struct{}, 1)} }

// push adds a candidate, and reports whether there was room. It does not wait. What is only to be looked at has half of
// the room, so that many of those keep nobody from being handed down.
func (q *queue) push(c candidate) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	most := q.most
	if c.doubt {
		most = (most + 1) / 2
	}
	if len(q.items) >= most {
		return false
	}
	q.items = append(q.items, c)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// take moves all candidates to the end of into, of which at most q.most are there then.
func (q *queue) take(into []candidate) []candidate {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.items), max(0, q.most-len(into)))
	into = append(into, q.items[:n]...)
	rest := q.items[n:]
	q.items = append(make([]candidate, 0, min(len(rest), q.most)), rest...)
	return into
}

package sketch

import (
	"time"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
)

// line is a cache line of the first tier.
type line [4]cell

// cell is the bucket of the key with the hash tag. The zero value is free.
type cell struct {
	tag   uint64
	state limit.State
}

func (t *tiers[K]) lineOf(hash uint64) *line { return &t.lines[hash>>t.shift] }

// tagOf keeps 0 for free cells.
func tagOf(hash uint64) uint64 { return max(hash, 1) }

// find returns the cell of a key, nil if it has none.
func (x *line) find(hash uint64) *cell {
	tag := tagOf(hash)
	for i := range x {
		if x[i].tag == tag {
			return &x[i]
		}
	}
	return nil
}

// least returns the cell that owes the least, and how much.
func (x *line) least(debt func(limit.State) time.Duration) (*cell, time.Duration) {
	var found *cell
	var owes time.Duration
	for i := range x {
		c := &x[i]
		if c.tag == 0 {
			return c, 0
		}
		if d := debt(c.state); found == nil || d < owes {
			found, owes = c, d
		}
	}
	return found, owes
}

// charge is Take under the lock of p, but for counting what is refused. A key is in one
// tier at a time.
func (l *Limiter[K]) charge(key K, p keyed.Place, n uint64, now time.Duration) limit.Result {
	at := l.exact.Advance(p, now)
	c := l.lineOf(p.Hash).find(p.Hash)
	if c == nil {
		return l.chargeExact(key, p, n, now)
	}
	r := l.take(&c.state, n, at)
	if r.Allowed {
		l.allowed.Add(1)
		if state := c.state; l.leaky.Debt(state, at) > l.light {
			*c = cell{}
			l.exact.SetState(key, p, state, now)
		}
	}
	return r
}

// chargeExact charges a key that has no cell: it has an exact bucket or none.
func (l *Limiter[K]) chargeExact(key K, p keyed.Place, n uint64, now time.Duration) limit.Result {
	at := l.exact.Advance(p, now)
	state, isKept := l.exact.State(key, p, now)
	r := l.take(&state, n, at)
	if !r.Allowed {
		return r
	}
	l.allowed.Add(1)
	if n == 0 {
		return r
	}
	if !isKept && l.leaky.Debt(state, at) <= l.light && l.keepLight(p.Hash, state, at) {
		return r
	}
	l.exact.SetState(key, p, state, now)
	return r
}

// keepLight gives a key a cell, if there is one that owes nothing.
func (t *tiers[K]) keepLight(hash uint64, state limit.State, at time.Duration) bool {
	c, owes := t.lineOf(hash).least(t.debtAt(at))
	if owes > 0 {
		return false
	}
	if c.tag != 0 {
		t.drained.Add(1)
	}
	*c = cell{tagOf(hash), state}
	return true
}

// demote takes back a key that had to leave the second tier. Of it and the keys in its line the
// one that owes the least is forgotten.
func (t *tiers[K]) demote(hash uint64, state limit.State, at time.Duration) {
	debt := t.debtAt(at)
	c, owes := t.lineOf(hash).least(debt)
	if owes > 0 {
		t.lost.Add(1)
		if debt(state) <= owes {
			return
		}
	}
	*c = cell{tagOf(hash), state}
}

func (t *tiers[K]) debtAt(at time.Duration) func(limit.State) time.Duration {
	return func(s limit.State) time.Duration { return t.leaky.Debt(s, at) }
}

func (l *Limiter[K]) take(s *limit.State, n uint64, at time.Duration) limit.Result {
	r := l.leaky.Take(s, n, at)
	r.Zone = l.exact.Name()
	return r
}

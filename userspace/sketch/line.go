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
		return l.chargeExact(key, p, n, now, at)
	}
	r := l.take(&c.state, n, at)
	if r.Allowed {
		l.tallyOf(p.Hash).allowed.Add(1)
		if state := c.state; l.leaky.Debt(state, at) > l.light {
			*c = cell{}
			l.exact.Add(key, p, state, now)
		}
	}
	return r
}

// chargeExact charges a key that has no cell: it has an exact bucket or none. at is what now stands for.
func (l *Limiter[K]) chargeExact(key K, p keyed.Place, n uint64, now, at time.Duration) limit.Result {
	if state := l.exact.State(key, p); state != nil {
		r := l.take(state, n, at)
		if r.Allowed {
			l.tallyOf(p.Hash).allowed.Add(1)
		}
		return r
	}
	state := l.leaky.Fresh(at)
	r := l.take(&state, n, at)
	if !r.Allowed {
		return r
	}
	l.tallyOf(p.Hash).allowed.Add(1)
	if n == 0 {
		return r
	}
	if isHeavy := l.leaky.Debt(state, at) > l.light; isHeavy || !l.keepLight(p.Hash, state, at) {
		l.exact.Add(key, p, state, now)
	}
	return r
}

// keepLight gives a key a cell, if there is one that owes nothing.
func (t *tiers[K]) keepLight(hash uint64, state limit.State, at time.Duration) bool {
	c, owes := t.lineOf(hash).least(t.debtAt(at))
	if owes > 0 {
		return false
	}
	t.fill(c, hash, state)
	return true
}

// fill gives a key a cell that owes nothing.
func (t *tiers[K]) fill(c *cell, hash uint64, state limit.State) {
	if c.tag != 0 {
		t.tallyOf(hash).drained.Add(1)
	}
	*c = cell{tagOf(hash), state}
}

// demote takes back a key that had to leave the second tier. Of it and the keys in its line the
// one that owes the least is forgotten.
func (t *tiers[K]) demote(hash uint64, state limit.State, at time.Duration) {
	debt := t.debtAt(at)
	c, owes := t.lineOf(hash).least(debt)
	if owes <= 0 {
		t.fill(c, hash, state)
		return
	}
	t.tallyOf(hash).lost.Add(1)
	if debt(state) > owes {
		*c = cell{tagOf(hash), state}
	}
}

func (t *tiers[K]) debtAt(at time.Duration) func(limit.State) time.Duration {
	return func(s limit.State) time.Duration { return t.first.Debt(s, at) }
}

func (l *Limiter[K]) take(s *limit.State, n uint64, at time.Duration) limit.Result {
	r := l.leaky.Take(s, n, at)
	r.Zone = l.exact.Name()
	return r
}

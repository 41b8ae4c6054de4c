package sketch

import (
	"time"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
)

// line is a cache line of the first tier.
type line [4]cell

// cell is the bucket of the key with the hash in tag. The zero value is free.
//
// The upper bits of a hash tell the line, of which there are at least 128. So tag has the key's class in their place.
type cell struct {
	tag   uint64
	state limit.State
}

const (
	hashBits = 57
	// MostLight is the largest class whose keys have cells.
	MostLight = 1<<(64-hashBits) - 1
)

func (t *tiers[K]) lineOf(hash uint64) *line { return &t.lines[hash>>t.shift] }

// tagOf keeps 0 for free cells.
func tagOf(hash uint64) uint64 { return max(hash&(1<<hashBits-1), 1) }

func newCell(hash uint64, state limit.State, c keyed.Class) cell {
	return cell{uint64(c)<<hashBits | tagOf(hash), state}
}

func (c *cell) class() keyed.Class { return keyed.Class(c.tag >> hashBits) }

// find returns the cell of a key, nil if it has none.
func (x *line) find(hash uint64) *cell {
	tag := tagOf(hash)
	for i := range x {
		if x[i].tag&(1<<hashBits-1) == tag {
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
	if c.class() != l.exact.Class() {
		return l.chargeMoved(c, key, p, n, now, at)
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

// chargeMoved charges a key whose cell is of another class than it is of now. To have one rule for all classes, it moves to
// an exact bucket.
func (l *Limiter[K]) chargeMoved(c *cell, key K, p keyed.Place, n uint64, now, at time.Duration) limit.Result {
	state := l.exact.Recast(p, c.state, c.class(), at)
	*c = cell{}
	l.exact.Add(key, p, state, now)
	return l.chargeExact(key, p, n, now, at)
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
func (l *Limiter[K]) keepLight(hash uint64, state limit.State, at time.Duration) bool {
	class := l.exact.Class()
	if class > MostLight {
		return false
	}
	c, owes := l.lineOf(hash).least(func(s limit.State) time.Duration { return l.leaky.Debt(s, at) })
	if owes > 0 {
		return false
	}
	l.fill(c, newCell(hash, state, class), hash)
	return true
}

// fill puts the cell of a key with that hash in place of one that owes nothing.
func (t *tiers[K]) fill(c *cell, full cell, hash uint64) {
	if c.tag != 0 {
		t.tallyOf(hash).drained.Add(1)
	}
	*c = full
}

// demote takes back a key that had to leave the second tier. Of it and the keys in its line the
// one that owes the least is forgotten.
func (t *tiers[K]) demote(e keyed.Evicted[limit.State]) {
	if e.Class > MostLight {
		t.tallyOf(e.Hash).lost.Add(1)
		return
	}
	c, owes := t.lineOf(e.Hash).least(e.Debt)
	full := newCell(e.Hash, e.State, e.Class)
	if owes <= 0 {
		t.fill(c, full, e.Hash)
		return
	}
	t.tallyOf(e.Hash).lost.Add(1)
	if e.Debt(e.State) > owes {
		*c = full
	}
}

// carry carries the cells of lines over to other limits.
func (t *tiers[K]) carry(lines []line, carry func(limit.State, keyed.Class) (limit.State, keyed.Class)) {
	for i := range lines {
		for j := range lines[i] {
			c := &lines[i][j]
			if c.tag == 0 {
				continue
			}
			state, class := carry(c.state, c.class())
			if class > MostLight { // and nobody knows its key
				t.tallyOf(c.tag).lost.Add(1)
				*c = cell{}
				continue
			}
			*c = newCell(c.tag, state, class)
		}
	}
}

func (l *Limiter[K]) take(s *limit.State, n uint64, at time.Duration) limit.Result {
	r := l.leaky.Take(s, n, at)
	r.Zone = l.exact.Name()
	return r
}

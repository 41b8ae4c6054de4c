package redisstore

import (
	"github.com/headgate/headgate/userspace/limit"
)

// undo returns the words of limit.Result by which a charge is taken back: since when it counts, by Redis' clock, which of
// windows is when the one began that it is counted in; and the units, whether they began that window, and whether they were spent of a
// holding. Then the first is the number of the holding.
func (a *asked) undo(now uint64) (since, what uint64) {
	what = a.n << 2
	if a.spent {
		return a.number, what | spent
	}
	if a.terms.kind == leaky {
		return now, what
	}
	if a.before.x == 0 && a.before.y == 0 {
		return now, what | began
	}
	return now + a.before.left - a.terms.q, what
}

const (
	spent = 1
	began = 2
)

// undoing is a charge that is to be taken back.
type undoing struct {
	since, n     uint64
	began, spent bool
}

// undoingOf returns what undo told, and no units if nothing was charged.
func undoingOf(r limit.Result) undoing {
	since, what := r.Undo()
	return undoing{since: since, n: what >> 2, began: what&began != 0, spent: what&spent != 0}
}

// appendUndo appends what return.lua reads of a charge.
func (t *terms) appendUndo(b []byte, u undoing) []byte {
	var first byte
	if u.began {
		first = 1
	}
	return t.append(b, first, u.n, u.since)
}

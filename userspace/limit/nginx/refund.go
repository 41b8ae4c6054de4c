package nginx

import (
	"math"
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// What stands for the milliseconds from the charge before to this one in Result.Undo, where they are
// not needed to tell what the state was.
const (
	wasUnseen = math.MinInt32 + iota // the key was not remembered
	wasZero                          // it was remembered and never charged
	leastMilliseconds
)

// Refund implements keyed.Limiter. It takes back the latest charge of a key, unless the clock moved by
// more than 24 days from the charge before to this one. A key that was
// new is forgotten. The order of use stays as the charge left it, and what was forgotten for it
// stays so.
func (l *Limiter[K]) Refund(key K, r limit.Result, _ time.Duration) bool {
	excess, after := r.Undo()
	stamp, passed := uint32(after>>32), int32(uint32(after))
	if stamp == 0 {
		return false
	}
	p := l.Place(key)
	p.Lock.Lock()
	defer p.Lock.Unlock()
	z := l.zone
	i := z.nodes.find(key, uint32(p.Hash))
	if i == 0 || z.nodes.at(i).stamp != stamp {
		return false
	}
	node := z.nodes.at(i)
	node.stamp = 0
	switch passed {
	case wasUnseen:
		z.nodes.remove(i)
	case wasZero:
		node.state = state{}
	default:
		node.state = state{node.last - int64(passed), int64(excess)}
	}
	return true
}

// withUndo adds to r what Refund needs to make a key, which a charge made after, be as before.
func withUndo(r limit.Result, before, after state, stamp uint32) limit.Result {
	passed := after.last - before.last
	switch {
	case before.excess < 0:
		passed = wasUnseen
	case before == state{}:
		passed = wasZero
	case passed < leastMilliseconds || passed > math.MaxInt32:
		return r
	}
	return r.WithUndo(uint64(max(before.excess, 0)), uint64(stamp)<<32|uint64(uint32(passed)))
}

// nextStamp returns a number that no node has, unless one was idle for 2^32 charges of others.
func (z *keys[K]) nextStamp() uint32 {
	if z.stamp++; z.stamp == 0 {
		z.stamp++
	}
	return z.stamp
}

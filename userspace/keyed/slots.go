package keyed

import (
	"math"
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// Slots limits how many units of a key are under way at a time, as nginx's limit_conn. It is a
// Limiter: Take occupies slots, and Refund, with the Result of Take, frees them,
// exactly once however often it is called.
//
// A key is remembered while anything of it is under way, however many keys that are.
type Slots[K comparable] struct {
	*slotTable[K]
	most uint64
	era  uint64
}

type slotTable[K comparable] struct {
	*table[K, held]
	leases []leases // one for each shard, under its lock
}

// held is how many slots a key occupies.
type held uint64

// NewSlots returns a limit of most units at a time, at least 1.
func NewSlots[K comparable](most uint64, o Options[K]) *Slots[K] {
	o.MaxKeys = MostKeys
	t := newTable[K, held](o)
	t.maxKeys.Store(math.MaxInt64)
	return &Slots[K]{slotTable: &slotTable[K]{t, make([]leases, len(t.shards))}, most: max(most, 1)}
}

// With returns a limit of most units at a time of the same keys.
func (s *Slots[K]) With(most uint64) *Slots[K] { return &Slots[K]{s.slotTable, max(most, 1), s.era} }

// Succeed returns a limit of most units at a time that takes the place of s and of those that it shares keys with,
// as Store.Succeed does. What is under way stays so, and whoever it was given out by may free it.
func (s *Slots[K]) Succeed(most uint64) *Slots[K] {
	return &Slots[K]{s.slotTable, max(most, 1), s.era + 1}
}

// Take implements Limiter.
func (s *Slots[K]) Take(key K, n uint64, now time.Duration) limit.Result {
	p := s.Place(key)
	p.Lock.Lock()
	defer p.Lock.Unlock()
	r := s.Ask(key, p, n, now)
	if r.Allowed {
		return s.Charge(key, p, n, now)
	}
	return r
}

// Peek implements Limiter.
func (s *Slots[K]) Peek(key K, n uint64, now time.Duration) limit.Result {
	p := s.Place(key)
	p.Lock.Lock()
	defer p.Lock.Unlock()
	return s.Look(key, p, n, now)
}

// Refund implements Limiter: it frees the slots that r occupies.
func (s *Slots[K]) Refund(key K, r limit.Result, _ time.Duration) bool {
	hash := s.hash(key)
	sh := s.shardOf(hash)
	sh.Lock()
	defer sh.Unlock()
	i := sh.find(key, hash)
	if i < 0 {
		return false // what has a lease is not forgotten: r is another key's
	}
	n, ok := s.leasesOf(hash).end(r.Undo())
	sh.entries.at(i).state -= held(n)
	return ok
}

// Counters implements Limiter. Keys that have nothing under way may be among its Keys.
func (s *Slots[K]) Counters() Counters { return s.counters() }

// Ask implements Part.
func (s *Slots[K]) Ask(key K, p Place, n uint64, now time.Duration) limit.Result {
	sh := s.shardOf(p.Hash)
	if s.era < sh.era {
		return SupersededResult(s.name)
	}
	sh.era = s.era
	r := s.Look(key, p, n, now)
	if !r.Allowed {
		sh.refused++
	}
	return r
}

// Look implements Part. Nothing is known of when a slot will be free: RetryAfter
// is a nanosecond, and what is rounded up to a header's second.
func (s *Slots[K]) Look(key K, p Place, n uint64, _ time.Duration) limit.Result {
	var used uint64
	sh := s.shardOf(p.Hash)
	if i := sh.find(key, p.Hash); i >= 0 {
		used = uint64(sh.entries.at(i).state)
	}
	free := s.most - min(used, s.most)
	r := limit.Result{Zone: s.name, Limit: s.most, Remaining: free}
	switch {
	case n <= free:
		r.Allowed = true
		r.Remaining = free - n
	case n > s.most:
		r.RetryAfter = limit.Never
	default:
		r.RetryAfter = 1
	}
	return r
}

// Charge implements Part.
func (s *Slots[K]) Charge(key K, p Place, n uint64, now time.Duration) limit.Result {
	r := s.Look(key, p, n, now)
	sh := s.shardOf(p.Hash)
	sh.allowed++
	if n == 0 {
		return r
	}
	if i := sh.find(key, p.Hash); i >= 0 {
		sh.entries.at(i).state += held(n)
	} else {
		s.insert(sh, key, p.Hash, held(n), s)
	}
	return r.WithUndo(s.leasesOf(p.Hash).begin(n))
}

func (s *slotTable[K]) leasesOf(hash uint64) *leases { return &s.leases[hash>>s.shift] }

// debt keeps a key that occupies slots from being forgotten.
func (*slotTable[K]) debt(h held, _ time.Duration) time.Duration {
	if h == 0 {
		return 0
	}
	return math.MaxInt64
}

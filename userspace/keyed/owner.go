package keyed

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// Forget makes key one that was never seen, and reports whether something was known of it.
func (t *table[K, S]) Forget(key K) bool {
	hash := t.hash(key)
	s := t.shardOf(hash)
	s.Lock()
	defer s.Unlock()
	i := s.find(key, hash)
	if i >= 0 {
		t.remove(s, i)
	}
	return i >= 0
}

// Forget does nothing and reports false: what is under way ends by itself.
func (s *Slots[K]) Forget(K) bool { return false }

// Owner is a key and what it owes.
type Owner[K comparable] struct {
	Key  K
	Owed uint64 // thousandths of a unit: limit.Algorithm.Owed; of Slots what is under way
	// Debt is limit.Algorithm.Debt; 0 for Slots.
	Debt time.Duration
}

// Owner returns what key owes.
func (s *Store[K, S, A]) Owner(key K, now time.Duration) Owner[K] { return s.owner(key, now, s.owes) }

// Top returns the keys that owe most, at most n, the first the most. It looks at all keys, those of one lock at a
// time.
func (s *Store[K, S, A]) Top(n int, now time.Duration) []Owner[K] { return s.top(n, now, s.owes) }

func (s *Store[K, S, A]) owes(sh *shard[K, S], i int, t time.Duration) Owner[K] {
	e := sh.entries.at(i)
	return s.ownerOf(sh, e.key, e.state, sh.class(i), t)
}

// ownerOf returns what a key owes whose state is of class c.
func (s *Store[K, S, A]) ownerOf(sh *shard[K, S], key K, state S, c Class, t time.Duration) Owner[K] {
	a := s.algorithm
	if sh.era == s.era && int(c) < len(s.epoch.classes) {
		a = s.epoch.classes[c]
	}
	return Owner[K]{key, a.Owed(state, t), a.Debt(state, t)}
}

// Owner returns how much of key is under way.
func (s *Slots[K]) Owner(key K, now time.Duration) Owner[K] { return s.owner(key, now, s.holds) }

// Top returns the keys of which most is under way, at most n.
func (s *Slots[K]) Top(n int, now time.Duration) []Owner[K] { return s.top(n, now, s.holds) }

func (*Slots[K]) holds(sh *shard[K, held], i int, _ time.Duration) Owner[K] {
	e := sh.entries.at(i)
	return Owner[K]{Key: e.key, Owed: uint64(e.state) * 1000}
}

// OwnerAt is Owner for who has the lock of p.
func (s *Store[K, S, A]) OwnerAt(key K, p Place, now time.Duration) Owner[K] {
	return s.ownerAt(key, p.Hash, now, s.owes)
}

// OwnerOf returns what a key owes whose state, of class c, somebody keeps beside those at p. The lock of p is held.
func (s *Store[K, S, A]) OwnerOf(key K, p Place, state S, c Class, now time.Duration) Owner[K] {
	sh := s.shardOf(p.Hash)
	return s.ownerOf(sh, key, state, c, sh.clock.at(now))
}

func (t *table[K, S]) owner(key K, now time.Duration, owes func(*shard[K, S], int, time.Duration) Owner[K]) Owner[K] {
	hash := t.hash(key)
	s := t.shardOf(hash)
	s.Lock()
	defer s.Unlock()
	return t.ownerAt(key, hash, now, owes)
}

func (t *table[K, S]) ownerAt(key K, hash uint64, now time.Duration, owes func(*shard[K, S], int, time.Duration) Owner[K]) Owner[K] {
	s := t.shardOf(hash)
	if i := s.find(key, hash); i >= 0 {
		return owes(s, i, s.clock.at(now))
	}
	return Owner[K]{Key: key}
}

func (t *table[K, S]) top(n int, now time.Duration, owes func(*shard[K, S], int, time.Duration) Owner[K]) []Owner[K] {
	var most Most[K]
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		at := s.clock.at(now)
		for j := range s.entries.len {
			most.Add(n, owes(s, j, at))
		}
		s.Unlock()
	}
	return most.Sorted()
}

// Most collects the owners that owe most. The zero value has none.
type Most[K comparable] struct{ heap owners[K] }

// Add offers o to the n that owe most. Those that owe nothing are not among them.
func (m *Most[K]) Add(n int, o Owner[K]) {
	switch {
	case o.Owed == 0 || n <= 0:
	case len(m.heap) < n:
		heap.Push(&m.heap, o)
	case o.Owed > m.heap[0].Owed:
		m.heap[0] = o
		heap.Fix(&m.heap, 0)
	}
}

// Sorted returns them, the one that owes most first.
func (m *Most[K]) Sorted() []Owner[K] {
	slices.SortStableFunc(m.heap, func(a, b Owner[K]) int { return cmp.Compare(b.Owed, a.Owed) })
	return m.heap
}

// owners is a heap, with the one that owes least on top.
type owners[K comparable] []Owner[K]

func (o owners[K]) Len() int           { return len(o) }
func (o owners[K]) Less(i, j int) bool { return o[i].Owed < o[j].Owed }
func (o owners[K]) Swap(i, j int)      { o[i], o[j] = o[j], o[i] }
func (o *owners[K]) Push(x any)        { *o = append(*o, x.(Owner[K])) }
func (o *owners[K]) Pop() any {
	last := len(*o) - 1
	x := (*o)[last]
	*o = (*o)[:last]
	return x
}

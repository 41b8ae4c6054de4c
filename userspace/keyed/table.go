package keyed

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// looks is how many entries are looked at for one that can be forgotten, at each
	// new key. It has to be more than one, or the hand would not gain on the new.
	looks = 2
	// looksIfFull is how many where one has to be forgotten.
	looksIfFull = 16
)

// lastOrder is the order number given last. It is the one variable of the package, since locks
// of different stores are taken together.
var lastOrder atomic.Uint64

// Orders reserves n numbers for Place.Order and returns the first.
func Orders(n int) uint64 { return lastOrder.Add(uint64(n)) - uint64(n) + 1 }

// table holds an S for each key.
type table[K comparable, S any] struct {
	shards  []shard[K, S]
	shift   int // of a hash, to the number of its shard
	seed    maphash.Seed
	clone   func(K) K
	name    string
	orders  uint64
	maxKeys int64
	keys    atomic.Int64
	evicted func(hash uint64, state S, at time.Duration) // nil if nobody wants to know
}

type entry[K comparable, S any] struct {
	key   K
	state S
}

type shard[K comparable, S any] struct {
	sync.Mutex
	clock   clock
	index   index
	entries []entry[K, S]
	hand    int // the entry to look at next
	scratch S   // what an algorithm looks at; on the stack it would escape

	allowed, refused            uint64
	evictedDrained, evictedLive uint64

	_ [64]byte // the next shard's lock is on another cache line
}

func newTable[K comparable, S any](o Options[K]) *table[K, S] {
	n := o.shards()
	t := &table[K, S]{
		shards:  make([]shard[K, S], n),
		shift:   64 - log2(n),
		seed:    maphash.MakeSeed(),
		clone:   o.Clone,
		name:    o.Name,
		orders:  Orders(n),
		maxKeys: int64(o.maxKeys()),
	}
	for i := range t.shards {
		t.shards[i].clock = newClock()
	}
	return t
}

func (t *table[K, S]) hash(key K) uint64 { return maphash.Comparable(t.seed, key) }

// shardOf returns the shard of a hash. It uses the upper bits; the index uses the lower.
func (t *table[K, S]) shardOf(hash uint64) *shard[K, S] { return &t.shards[hash>>t.shift] }

// Place implements Part.
func (t *table[K, S]) Place(key K) Place {
	hash := t.hash(key)
	number := hash >> t.shift
	return Place{Lock: &t.shards[number].Mutex, Order: t.orders + number, Hash: hash}
}

// find returns the entry of key, nil if there is none.
func (s *shard[K, S]) find(key K, hash uint64) *entry[K, S] {
	for i := range s.index.all(hash) {
		if e := &s.entries[i]; e.key == key {
			return e
		}
	}
	return nil
}

// insert adds a key that is not there. debt tells what may be forgotten for it.
func (t *table[K, S]) insert(s *shard[K, S], key K, hash uint64, state S, debt func(S) time.Duration) {
	if t.keys.Load() >= t.maxKeys {
		t.makeRoom(s, debt)
	} else {
		t.sweep(s, debt)
	}
	if t.clone != nil {
		key = t.clone(key)
	}
	s.entries = append(roomy(s.entries), entry[K, S]{key, state})
	s.index.add(hash, len(s.entries)-1)
	t.keys.Add(1)
}

// sweep looks at the next two entries, and forgets those that owe nothing.
func (t *table[K, S]) sweep(s *shard[K, S], debt func(S) time.Duration) {
	for range min(looks, len(s.entries)) {
		if i := s.next(); debt(s.entries[i].state) <= 0 {
			s.evictedDrained++
			t.remove(s, i)
			s.hand = i // where another is now
		}
	}
}

// makeRoom forgets the first of the next entries that owes nothing, else the one that owes the
// least. It does nothing in an empty shard.
func (t *table[K, S]) makeRoom(s *shard[K, S], debt func(S) time.Duration) {
	least, owes := -1, time.Duration(0)
	for range min(looksIfFull, len(s.entries)) {
		i := s.next()
		d := debt(s.entries[i].state)
		if least < 0 || d < owes {
			least, owes = i, d
		}
		if d <= 0 {
			break
		}
	}
	if least < 0 {
		return
	}
	state := s.entries[least].state
	hash := t.remove(s, least)
	if owes <= 0 {
		s.evictedDrained++
		return
	}
	s.evictedLive++
	if t.evicted != nil {
		t.evicted(hash, state, s.clock.latest)
	}
}

// next returns the entry that the hand is at, and moves the hand on.
func (s *shard[K, S]) next() int {
	if s.hand >= len(s.entries) {
		s.hand = 0
	}
	s.hand++
	return s.hand - 1
}

// remove takes entry i out, puts the last in its place, and returns the hash of its key.
func (t *table[K, S]) remove(s *shard[K, S], i int) uint64 {
	hash := t.hash(s.entries[i].key)
	s.index.remove(hash, i)
	last := len(s.entries) - 1
	if i != last {
		moved := s.entries[last]
		h := t.hash(moved.key)
		s.index.remove(h, last)
		s.index.add(h, i)
		s.entries[i] = moved
	}
	s.entries[last] = entry[K, S]{}
	s.entries = s.entries[:last]
	t.keys.Add(-1)
	return hash
}

// Name returns the name of the limiter.
func (t *table[K, S]) Name() string { return t.name }

func (t *table[K, S]) counters() Counters {
	var c Counters
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		c.Keys += uint64(len(s.entries))
		c.Allowed += s.allowed
		c.Refused += s.refused
		c.EvictedDrained += s.evictedDrained
		c.EvictedLive += s.evictedLive
		s.Unlock()
	}
	return c
}

// roomy returns s with room for another element. append would make room for a quarter more, which
// is more than the index of an entry takes.
func roomy[E any](s []E) []E {
	n := len(s)
	if n < cap(s) {
		return s
	}
	return append(make([]E, 0, n+n/8+1), s...)
}

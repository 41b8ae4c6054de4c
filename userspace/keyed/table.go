package keyed

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// looks is how many entries are looked at to find the one to forget, where there is no room.
const looks = 16

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
	evicted func(hash uint64, state S) // nil if nobody wants to know
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
	if t.clone != nil {
		key = t.clone(key)
	}
	e := entry[K, S]{key, state}
	if i, ok := t.victim(s, debt); ok {
		t.replace(s, i, e, hash, debt)
		return
	}
	s.entries = append(s.entries, e)
	s.index.add(hash, len(s.entries)-1)
	t.keys.Add(1)
}

// replace puts e in the place of entry i.
func (t *table[K, S]) replace(s *shard[K, S], i int, e entry[K, S], hash uint64, debt func(S) time.Duration) {
	old := s.entries[i]
	oldHash := t.hash(old.key)
	s.index.remove(oldHash, i)
	s.entries[i] = e
	s.index.add(hash, i)
	if debt(old.state) <= 0 {
		s.evictedDrained++
		return
	}
	s.evictedLive++
	if t.evicted != nil {
		t.evicted(oldHash, old.state)
	}
}

// victim returns the entry to forget for another, and false if there is room.
func (t *table[K, S]) victim(s *shard[K, S], debt func(S) time.Duration) (int, bool) {
	n := len(s.entries)
	if n == 0 {
		return 0, false
	}
	look := 1
	full := t.keys.Load() >= t.maxKeys
	if full {
		look = min(looks, n)
	}
	least, owes := 0, time.Duration(-1)
	for range look {
		i := s.hand
		if s.hand++; s.hand == n {
			s.hand = 0
		}
		d := debt(s.entries[i].state)
		if d <= 0 {
			return i, true
		}
		if owes < 0 || d < owes {
			least, owes = i, d
		}
	}
	return least, full
}

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

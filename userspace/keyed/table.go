package keyed

import (
	"math/bits"
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
	hash    func(K) uint64
	clone   func(K) K
	name    string
	orders  uint64
	maxKeys atomic.Int64
	keys    atomic.Int64
	evicted func(Evicted[S])                                   // nil if nobody wants to know
	carried func(lock uint64, carry func(S, Class) (S, Class)) // nil if nobody has states of its own
}

// debtor tells what states owe at a time. It is an interface because a function would be an allocation for each new key.
type debtor[S any] interface {
	debt(s S, at time.Duration) time.Duration
}

type entry[K comparable, S any] struct {
	key   K
	state S
}

type shard[K comparable, S any] struct {
	sync.Mutex
	era     uint64 // of the limiters that may charge
	plain   uint64 // era, or mixed if not all entries are of class 0
	clock   clock
	index   index
	entries slab[entry[K, S]]
	hand    int     // the entry to look at next
	classes []Class // of the entries; those behind its end are of class 0
	scratch S       // what an algorithm looks at; on the stack it would escape

	allowed, refused            uint64
	evictedDrained, evictedLive uint64

	_ [64]byte // the next shard's lock is on another cache line
}

func newTable[K comparable, S any](o Options[K]) *table[K, S] {
	n := o.shards()
	t := &table[K, S]{
		shards: make([]shard[K, S], n),
		shift:  64 - bits.TrailingZeros(uint(n)), // n is a power of two
		hash:   newHash[K](),
		clone:  o.Clone,
		name:   o.Name,
		orders: Orders(n),
	}
	t.maxKeys.Store(int64(o.maxKeys()))
	for i := range t.shards {
		t.shards[i].clock = newClock()
	}
	return t
}

// shardOf returns the shard of a hash. It uses the upper bits; the index uses the lower.
func (t *table[K, S]) shardOf(hash uint64) *shard[K, S] { return &t.shards[hash>>t.shift] }

// Place implements Part.
func (t *table[K, S]) Place(key K) Place {
	hash := t.hash(key)
	number := hash >> t.shift
	return Place{Lock: &t.shards[number].Mutex, Order: t.orders + number, Hash: hash}
}

// find returns the number of the entry of key, -1 if there is none.
func (s *shard[K, S]) find(key K, hash uint64) int {
	for i := range s.index.all(hash) {
		if s.entries.at(i).key == key {
			return i
		}
	}
	return -1
}

// insert adds a key that is not there, and returns the number of its entry. owing tells what may be forgotten for it.
func (t *table[K, S]) insert(s *shard[K, S], key K, hash uint64, state S, owing debtor[S]) int {
	if t.clone != nil {
		key = t.clone(key)
	}
	t.sweep(s, owing)
	i := -1
	if keys, most := t.keys.Load(), t.maxKeys.Load(); keys >= most {
		if keys > most {
			t.shrink(s, owing)
		}
		i = t.makeRoom(s, owing)
	}
	if i < 0 {
		i = s.entries.push()
		t.keys.Add(1)
	}
	*s.entries.at(i) = entry[K, S]{key, state}
	s.index.add(hash, i)
	return i
}

// sweep looks at the next two entries, and forgets those that owe nothing. What takes the place of one is
// mostly new, and looked at when the hand comes round again.
func (t *table[K, S]) sweep(s *shard[K, S], owing debtor[S]) {
	for range min(looks, s.entries.len) {
		if i := s.next(); owing.debt(s.entries.at(i).state, s.clock.latest) <= 0 {
			s.evictedDrained++
			t.remove(s, i)
		}
	}
}

// shrink forgets one of the next entries. With the one that makeRoom forgets that is two for each new key, so
// that a store whose bound was lowered gets there.
func (t *table[K, S]) shrink(s *shard[K, S], owing debtor[S]) {
	if i := t.makeRoom(s, owing); i >= 0 {
		t.fill(s, i)
	}
}

// makeRoom forgets the first of the next entries that owes nothing, else the one that owes the
// least, and returns where it was: what is new has to be put there. It returns -1 in an empty shard.
func (t *table[K, S]) makeRoom(s *shard[K, S], owing debtor[S]) int {
	least, owes := -1, time.Duration(0)
	for range min(looksIfFull, s.entries.len) {
		i := s.next()
		d := owing.debt(s.entries.at(i).state, s.clock.latest)
		if least < 0 || d < owes {
			least, owes = i, d
		}
		if d <= 0 {
			break
		}
	}
	if least < 0 {
		return -1
	}
	old := s.entries.at(least)
	hash := t.hash(old.key)
	s.index.remove(hash, least)
	if owes <= 0 {
		s.evictedDrained++
		return least
	}
	s.evictedLive++
	if t.evicted != nil {
		t.evicted(Evicted[S]{hash, old.state, s.class(least), s.clock.latest, owing})
	}
	return least
}

// next returns the entry that the hand is at, and moves the hand on.
func (s *shard[K, S]) next() int {
	if s.hand >= s.entries.len {
		s.hand = 0
	}
	s.hand++
	return s.hand - 1
}

// remove takes entry i out and puts the last in its place.
func (t *table[K, S]) remove(s *shard[K, S], i int) {
	s.index.remove(t.hash(s.entries.at(i).key), i)
	t.fill(s, i)
}

// fill puts the last entry in the place of i, which the index has no more.
func (t *table[K, S]) fill(s *shard[K, S], i int) {
	last := s.entries.len - 1
	if i != last {
		moved := s.entries.at(last)
		s.index.renumber(t.hash(moved.key), last, i)
		*s.entries.at(i) = *moved
		s.setClass(i, s.class(last))
	}
	s.setClass(last, 0)
	s.entries.pop()
	t.keys.Add(-1)
}

// class returns the class of entry i.
func (s *shard[K, S]) class(i int) Class {
	if i < len(s.classes) {
		return s.classes[i]
	}
	return 0
}

// setClass makes entry i one of class c. As long as all are of class 0 that takes no memory.
func (s *shard[K, S]) setClass(i int, c Class) {
	switch {
	case i < len(s.classes):
		s.classes[i] = c
	case c != 0:
		s.classes = append(s.classes, make([]Class, i+1-len(s.classes))...)
		s.classes[i], s.plain = c, mixed
	}
}

// Name returns the name of the limiter.
func (t *table[K, S]) Name() string { return t.name }

func (t *table[K, S]) counters() Counters {
	var c Counters
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		c.Keys += uint64(s.entries.len)
		c.Allowed += s.allowed
		c.Refused += s.refused
		c.EvictedDrained += s.evictedDrained
		c.EvictedLive += s.evictedLive
		s.Unlock()
	}
	return c
}

package resty

import (
	"strings"
	"sync"

	"github.com/headgate/headgate/userspace/keyed"
)

// record is what is known of a key, 16 bytes as in the original. What the words mean is the limiter's own.
type record struct {
	n, at int64
}

// store keeps a bounded number of records, in order of use. Its methods need the lock.
type store struct {
	lock     sync.Mutex
	order    uint64 // of the lock among all
	most     int
	index    map[string]uint32
	entries  []entry // the first is the head of the ring of those in use, newest first
	free     uint32  // the first of those not in use, linked by next; 0 for none
	counters keyed.Counters
}

// entry is a record in the ring.
type entry struct {
	key        string
	record     record
	prev, next uint32
}

func newStore(o Options) (*store, error) {
	most, err := o.maxKeys()
	if err != nil {
		return nil, err
	}
	return &store{
		order:   keyed.Orders(1),
		most:    most,
		index:   map[string]uint32{},
		entries: make([]entry, 1),
	}, nil
}

// get returns the record of key, which is the newest then.
func (s *store) get(key string) (record, bool) {
	i, found := s.index[key]
	if !found {
		return record{}, false
	}
	s.unlink(i)
	s.link(i)
	return s.entries[i].record, true
}

// look is get, and leaves the order of use.
func (s *store) look(key string) (record, bool) {
	i, found := s.index[key]
	return s.entries[i].record, found // the head has no record
}

// set replaces the record of key. If the key is new, and there are enough, the oldest is forgotten and
// counted by whether it owes.
func (s *store) set(key string, r record, owes func(record) bool) {
	i, found := s.index[key]
	if !found {
		if len(s.index) == s.most {
			s.evict(owes)
		}
		i = s.unused()
		key = strings.Clone(key) // the caller's may be a part of something large, or of a buffer
		s.entries[i].key = key
		s.index[key] = i
		s.link(i)
	}
	s.entries[i].record = r
}

func (s *store) evict(owes func(record) bool) {
	oldest := &s.entries[s.entries[0].prev]
	if owes(oldest.record) {
		s.counters.EvictedLive++
	} else {
		s.counters.EvictedDrained++
	}
	s.remove(oldest.key)
}

// remove forgets key.
func (s *store) remove(key string) {
	i, found := s.index[key]
	if !found {
		return
	}
	s.unlink(i)
	delete(s.index, key)
	s.entries[i] = entry{next: s.free}
	s.free = i
}

// unused returns an entry that is not in the ring.
func (s *store) unused() uint32 {
	if i := s.free; i != 0 {
		s.free = s.entries[i].next
		return i
	}
	s.entries = append(s.entries, entry{})
	return uint32(len(s.entries) - 1)
}

func (s *store) link(i uint32) {
	e, head := &s.entries[i], &s.entries[0]
	e.prev, e.next = 0, head.next
	s.entries[head.next].prev = i
	head.next = i
}

func (s *store) unlink(i uint32) {
	e := &s.entries[i]
	s.entries[e.prev].next = e.next
	s.entries[e.next].prev = e.prev
}

// count counts what a request that was to be charged got.
func (s *store) count(rejected bool) {
	if rejected {
		s.counters.Refused++
	} else {
		s.counters.Allowed++
	}
}

// Counters returns what was counted so far. Calls without commit are not counted.
func (s *store) Counters() keyed.Counters {
	s.lock.Lock()
	defer s.lock.Unlock()
	c := s.counters
	c.Keys = uint64(len(s.index))
	return c
}

func (s *store) shared() *store { return s }

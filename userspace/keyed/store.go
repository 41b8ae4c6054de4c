package keyed

import (
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// Store limits each key by an algorithm of its own state. It is a Limiter.
type Store[K comparable, S any, A limit.Algorithm[S]] struct {
	*table[K, S]
	algorithm A
	class     Class
	epoch     *epoch[S, A]
	era       uint64 // of the epoch
	plain     uint64 // era, or notPlain for classes other than 0
}

// New returns a store of keys that are limited by a. Only K has to be written:
// keyed.New[string](a, ...).
func New[K comparable, A limit.Algorithm[S], S any](a A, o Options[K]) *Store[K, S, A] {
	return NewClasses[K]([]A{a}, o)
}

// With returns a limiter of the same keys by another limit: one rule allows a key a burst of 5
// and another 20, and both see the same state. a must read states charged by s as s does, and
// find the same Debt in them, or keys are forgotten that still owe something: limits that
// limit.CompileLeaky made together do; a limit.Window or limit.Sliding only with the same time.
func (s *Store[K, S, A]) With(a A) *Store[K, S, A] { return s.OfClass(s.class, a) }

// Evicted is a key that a Store forgets with a debt.
type Evicted[S any] struct {
	Hash  uint64 // of its Place, whose lock is held
	State S
	Class Class

	at    time.Duration
	owing debtor[S]
}

// Debt returns what a state that is kept under the same lock owes now.
func (e Evicted[S]) Debt(s S) time.Duration { return e.owing.debt(s, e.at) }

// OnEvict makes s call f for each key that it forgets with a debt. It is for before the first use.
func (s *Store[K, S, A]) OnEvict(f func(Evicted[S])) { s.evicted = f }

// Take implements Limiter. A key that is known goes the short way: a Result is large, and each function
// that it is returned through copies it, which costs as much as what an algorithm does.
func (s *Store[K, S, A]) Take(key K, n uint64, now time.Duration) (r limit.Result) {
	hash := s.hash(key)
	sh := s.shardOf(hash)
	sh.Lock()
	defer sh.Unlock()
	t := sh.clock.advance(now)
	isPlain := sh.plain == s.plain
	if !isPlain && !s.enter(sh, hash>>s.shift, t) {
		return SupersededResult(s.name)
	}
	if i := sh.find(key, hash); i < 0 {
		r = s.takeNew(sh, key, hash, n, t)
	} else {
		if !isPlain {
			s.own(sh, i, t)
		}
		r = s.algorithm.Take(&sh.entries.at(i).state, n, t)
	}
	r.Zone = s.name
	if r.Allowed {
		sh.allowed++
	} else {
		sh.refused++
	}
	return r
}

// Peek implements Limiter.
func (s *Store[K, S, A]) Peek(key K, n uint64, now time.Duration) limit.Result {
	p := s.Place(key)
	p.Lock.Lock()
	defer p.Lock.Unlock()
	return s.Look(key, p, n, now)
}

// Refund implements Limiter.
func (s *Store[K, S, A]) Refund(key K, r limit.Result, now time.Duration) bool {
	hash := s.hash(key)
	sh := s.shardOf(hash)
	sh.Lock()
	defer sh.Unlock()
	i := sh.find(key, hash)
	return i >= 0 && sh.era == s.era && s.algorithm.Refund(&sh.entries.at(i).state, r, sh.clock.advance(now))
}

// Counters implements Limiter.
func (s *Store[K, S, A]) Counters() Counters { return s.counters() }

// Ask implements Part.
func (s *Store[K, S, A]) Ask(key K, p Place, n uint64, now time.Duration) limit.Result {
	sh := s.shardOf(p.Hash)
	if !s.Admits(p, now) {
		return SupersededResult(s.name)
	}
	r := s.Look(key, p, n, now)
	if !r.Allowed {
		sh.refused++
	}
	return r
}

// Look implements Part.
func (s *Store[K, S, A]) Look(key K, p Place, n uint64, now time.Duration) limit.Result {
	sh := s.shardOf(p.Hash)
	t := sh.clock.at(now)
	sh.scratch = s.state(sh, key, p.Hash, t)
	r := s.algorithm.Take(&sh.scratch, n, t).WithUndo(0, 0) // nothing was charged
	r.Zone = s.name
	return r
}

// Charge implements Part.
func (s *Store[K, S, A]) Charge(key K, p Place, n uint64, now time.Duration) (r limit.Result) {
	sh := s.shardOf(p.Hash)
	sh.allowed++
	t := sh.clock.advance(now)
	if i := sh.find(key, p.Hash); i >= 0 {
		r = s.algorithm.Take(s.own(sh, i, t), n, t)
	} else {
		r = s.takeNew(sh, key, p.Hash, n, t)
	}
	r.Zone = s.name
	return r
}

// State returns what is remembered of key, nil if that is nothing. It is valid, and may be changed, while
// the lock of p is held.
func (s *Store[K, S, A]) State(key K, p Place) *S {
	sh := s.shardOf(p.Hash)
	if i := sh.find(key, p.Hash); i >= 0 {
		return s.own(sh, i, sh.clock.latest)
	}
	return nil
}

// Add remembers the state of a key of which nothing is remembered. The lock of p is held.
func (s *Store[K, S, A]) Add(key K, p Place, state S, now time.Duration) {
	sh := s.shardOf(p.Hash)
	sh.clock.advance(now)
	s.add(sh, key, p.Hash, state)
}

// Time returns the time that now stands for at p: it never goes back. The lock of p is held.
func (s *Store[K, S, A]) Time(p Place, now time.Duration) time.Duration {
	return s.shardOf(p.Hash).clock.at(now)
}

// Advance is Time, and goes on from there: no later time is before it. The lock of p is held.
func (s *Store[K, S, A]) Advance(p Place, now time.Duration) time.Duration {
	return s.shardOf(p.Hash).clock.advance(now)
}

func (s *Store[K, S, A]) state(sh *shard[K, S], key K, hash uint64, t time.Duration) S {
	if i := sh.find(key, hash); i >= 0 {
		return s.read(sh, i, t)
	}
	return s.algorithm.Fresh(t)
}

// takeNew charges a key that is not known, at t. If nothing is charged, it is not remembered.
func (s *Store[K, S, A]) takeNew(sh *shard[K, S], key K, hash, n uint64, t time.Duration) limit.Result {
	sh.scratch = s.algorithm.Fresh(t)
	r := s.algorithm.Take(&sh.scratch, n, t)
	if r.Allowed && n > 0 {
		s.add(sh, key, hash, sh.scratch)
	}
	return r
}

func (s *Store[K, S, A]) add(sh *shard[K, S], key K, hash uint64, state S) {
	i := s.insert(sh, key, hash, state, s)
	sh.setClass(i, s.class)
}

func (s *Store[K, S, A]) debt(state S, at time.Duration) time.Duration {
	return s.algorithm.Debt(state, at)
}

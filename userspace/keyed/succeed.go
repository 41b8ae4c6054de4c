package keyed

import (
	"math"
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// supersededAfter is the RetryAfter that marks the result of a limiter whose place another has taken.
const supersededAfter = limit.Never - 1

// Class tells keys that are limited differently apart, such as those with another rate. A key is in one, and may change it
// when the limits do.
type Class uint16

// epoch is the limits that are in force together.
type epoch[S, A any] struct {
	era        uint64
	classes    []A
	converters []converter[S, A] // of the classes; nil if states need not be carried over
	was        *epoch[S, A]      // the epoch before, until all states are of this one
	from       []Class           // what the classes before are now
	same       bool              // and that states need not be carried over from them
}

func newEpoch[S, A any](classes []A) *epoch[S, A] {
	e := &epoch[S, A]{classes: classes}
	for _, a := range classes {
		if c, ok := any(a).(converter[S, A]); ok {
			e.converters = append(e.converters, c)
		}
	}
	return e
}

// converter is an algorithm that carries states over from another of its kind.
type converter[S, A any] interface {
	Convert(s S, was A, now time.Duration) S
}

// NewClasses is New for keys of several classes; OfClass makes the limiters of each. What it returns is one of class 0.
func NewClasses[K comparable, A limit.Algorithm[S], S any](classes []A, o Options[K]) *Store[K, S, A] {
	return storeOf(newTable[K, S](o), newEpoch[S](classes), 0, classes[0])
}

// OfClass returns a limiter of the same keys by a for those of class c, as With does for those of s's. A key that
// was last charged in another class is carried over.
func (s *Store[K, S, A]) OfClass(c Class, a A) *Store[K, S, A] {
	return storeOf(s.table, s.epoch, c, a)
}

// Succeed returns a limiter of class 0 that takes the place of s and of all limiters that share its keys; its OfClass
// makes the others. classes has an algorithm of each class (of several that limit a class, the one with the largest burst; limit.Leaky: made together by
// limit.CompileLeaky), and from tells which of them each of the classes before is now:
// class 0 where it does not say. States are carried over by the algorithm's method Convert, if
// it has one (see limit.Leaky.Convert), else they stay.
//
// It waits for nobody and changes nothing yet. Which limiters count is settled for each lock, when one of the new ones first has
// it, or by Settle. From then on the old ones charge nothing there: what they return is refused, and
// Superseded tells that it is no decision. So of parallel calls each is decided by the old limits or by the new ones, those about
// one key in that order. It is for one goroutine at a time, and Settle is to follow.
func (s *Store[K, S, A]) Succeed(classes []A, from []Class) *Store[K, S, A] {
	e := newEpoch[S](classes)
	e.era, e.was, e.from = s.era+1, s.epoch, from
	e.same = e.isAsBefore()
	return storeOf(s.table, e, 0, classes[0])
}

// What the plain of a shard and of a Store are if there are other classes than 0: they are never equal.
const (
	mixed    = math.MaxUint64
	notPlain = math.MaxUint64 - 1
)

func storeOf[K comparable, S any, A limit.Algorithm[S]](t *table[K, S], e *epoch[S, A], c Class, a A) *Store[K, S, A] {
	s := &Store[K, S, A]{t, a, c, e, e.era, e.era}
	if c != 0 {
		s.plain = notPlain
	}
	return s
}

// Settle makes s count at all locks. It holds each as long as it takes to carry over its keys, some 10 ns each. States are
// carried over as of now: until then they drained at the old rate.
func (s *Store[K, S, A]) Settle(now time.Duration) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.Lock()
		s.enter(sh, uint64(i), sh.clock.advance(now))
		sh.Unlock()
	}
	s.epoch.was = nil // nobody looks at it any more
}

// Admits reports whether s may charge at p, and if so supersedes there the limiters that it succeeds. It is for those who write
// limiters on a Store. The lock of p is held.
func (s *Store[K, S, A]) Admits(p Place, now time.Duration) bool {
	sh := s.shardOf(p.Hash)
	return sh.era == s.era || s.enter(sh, p.Hash>>s.shift, sh.clock.advance(now))
}

// OnCarry makes s call f for each lock where it takes the place of others, with the number of the lock (the upper bits of a
// Place's Hash) and what carries a state over, for states that f's owner keeps beside the store. It is for before the
// first use.
func (s *Store[K, S, A]) OnCarry(f func(lock uint64, carry func(S, Class) (S, Class))) { s.carried = f }

// Locks returns how many locks there are.
func (s *Store[K, S, A]) Locks() int { return len(s.shards) }

// enter reports whether s may charge in a shard, which it makes one of its era.
func (s *Store[K, S, A]) enter(sh *shard[K, S], number uint64, t time.Duration) bool {
	if s.era < sh.era {
		return false
	}
	if s.era > sh.era {
		s.carry(sh, number, s.epoch, t)
	}
	return true
}

// carry makes a shard one of epoch e.
func (s *Store[K, S, A]) carry(sh *shard[K, S], number uint64, e *epoch[S, A], t time.Duration) {
	if e.was.era > sh.era {
		s.carry(sh, number, e.was, t)
	}
	sh.era = e.era
	if len(sh.classes) == 0 {
		sh.plain = e.era
	}
	if e.same {
		return
	}
	for i := range sh.entries.len {
		entry := sh.entries.at(i)
		state, class := e.carry(entry.state, sh.class(i), t)
		entry.state = state
		sh.setClass(i, class)
	}
	if s.carried != nil {
		s.carried(number, func(state S, c Class) (S, Class) { return e.carry(state, c, t) })
	}
}

// carry returns a state of the epoch before, and what it is of in this one.
func (e *epoch[S, A]) carry(state S, c Class, t time.Duration) (S, Class) {
	now := e.now(c)
	return e.convert(state, now, e.was.classes[c], t), now
}

// convert returns a state that was charged under was as one of class c.
func (e *epoch[S, A]) convert(state S, c Class, was A, t time.Duration) S {
	if e.converters == nil {
		return state
	}
	return e.converters[c].Convert(state, was, t)
}

// now returns what a class of the epoch before is now.
func (e *epoch[S, A]) now(c Class) Class {
	if int(c) < len(e.from) {
		return e.from[c]
	}
	return 0
}

// isAsBefore reports whether no state has to become another.
func (e *epoch[S, A]) isAsBefore() bool {
	for c := range e.was.classes {
		if int(e.now(Class(c))) != c || any(e.classes[c]) != any(e.was.classes[c]) {
			return false
		}
	}
	return true
}

// own returns the state of entry i, as one of s's class from now on.
func (s *Store[K, S, A]) own(sh *shard[K, S], i int, t time.Duration) *S {
	e := sh.entries.at(i)
	if sh.plain != s.plain {
		e.state = s.read(sh, i, t)
		sh.setClass(i, s.class)
	}
	return &e.state
}

// read returns the state of entry i as one of s's class.
func (s *Store[K, S, A]) read(sh *shard[K, S], i int, t time.Duration) S {
	return s.recast(sh, sh.entries.at(i).state, sh.class(i), t)
}

// Recast returns a state that somebody keeps beside those at p, of another class or of s's, as one of s's class at t. Where
// s does not count, it returns the state as it is. The lock of p is held.
func (s *Store[K, S, A]) Recast(p Place, state S, was Class, t time.Duration) S {
	return s.recast(s.shardOf(p.Hash), state, was, t)
}

func (s *Store[K, S, A]) recast(sh *shard[K, S], state S, was Class, t time.Duration) S {
	if was == s.class || sh.era != s.era {
		return state // in another era it is only looked at, and there is no telling what its class is in this one
	}
	return s.epoch.convert(state, s.class, s.epoch.classes[was], t)
}

// Class returns the class of s.
func (s *Store[K, S, A]) Class() Class { return s.class }

// SetMaxKeys changes Options.MaxKeys. Where more keys are there, each new one takes the place of two.
func (t *table[K, S]) SetMaxKeys(n int) { t.maxKeys.Store(int64(Options[K]{MaxKeys: n}.maxKeys())) }

// Settle does nothing: no state has to become another.
func (s *Slots[K]) Settle(time.Duration) {}

// SetMaxKeys does nothing: nothing that is under way is forgotten.
func (s *Slots[K]) SetMaxKeys(int) {}

// Superseded reports whether All came to no decision about charges, because a limiter with the same keys took the place
// of one of theirs. It can be asked again with the new limiters.
func Superseded[K comparable](charges []Charge[K]) bool {
	return slices.ContainsFunc(charges, func(c Charge[K]) bool { return isSuperseded(c.Result) })
}

// SupersededResult is what a limiter named zone returns where another has taken its place.
func SupersededResult(zone string) limit.Result {
	return limit.Result{Zone: zone, RetryAfter: supersededAfter}
}

func isSuperseded(r limit.Result) bool { return r.RetryAfter == supersededAfter }

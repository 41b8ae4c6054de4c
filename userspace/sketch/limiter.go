package sketch

import (
	"cmp"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
)

// MostLines is the largest Lines of Options: 64 GiB.
const MostLines = 1 << 30

// Options are the settings of a Limiter.
type Options[K comparable] struct {
	// Keys are those of the exact buckets; MaxKeys bounds how many there are.
	Keys keyed.Options[K]
	// Lines is how many lines of 64 bytes the first tier has, rounded up to a power of
	// two, at most MostLines. 0 for a quarter of MaxKeys, which is a cell for each of them. It is all that the first tier ever takes.
	Lines int
}

// Limiter limits by a leaky bucket a key in constant memory, however many keys there are. It is a
// keyed.Limiter, and says of each key what a keyed.Store of the same limit does, as long as
// Counters().EvictedLive does not go up.
//
// It has two tiers. Keys that owe little, which is most of them and all of a flood from made-up
// addresses, have a bucket in the first: a cell of 16 bytes, found by the key's hash and marked
// with it, in a line of four that is one cache miss. A key that owes more than half of its
// burst has an exact bucket in the second, where the whole key is kept. Both tiers forget what owes nothing
// first, then what owes the least: what is forgotten of a heavy key in the second tier goes back to the first, and of the first
// it is lost, and counted. So a heavy key outlasts any number of light ones.
//
// A count-min sketch, as Estimator, adds up the traffic of all keys that share its cells, so
// that what it says of a key may be another's doing. A cell here is one key's: two keys would
// have to agree in 64 bits of a hash whose seed nobody knows. The chance that any two of a million
// keys do is 3 in 10^8. That is how an innocent key is never refused for what others do.
type Limiter[K comparable] struct {
	*tiers[K]
	leaky limit.Leaky
	light time.Duration // what a key may owe in the first tier
	exact *keyed.Store[K, limit.State, limit.Leaky]
}

// tiers is what limiters of the same keys share.
type tiers[K comparable] struct {
	lines []line // each is guarded by the lock of the keys that it is for
	shift int    // of a hash, to the number of its line

	tallies [keyed.MostShards]tally // by the upper bits of a hash
}

// tally is what was counted of some of the keys. It fills a cache line, so that keys with
// different locks do not slow each other down.
type tally struct {
	allowed, refused, drained, lost atomic.Uint64

	_ [32]byte
}

func (t *tiers[K]) tallyOf(hash uint64) *tally { return &t.tallies[hash>>57] }

// NewLimiter returns a limiter of keys by l.
func NewLimiter[K comparable](l limit.Leaky, o Options[K]) *Limiter[K] {
	return NewClasses([]limit.Leaky{l}, o)
}

// NewClasses is NewLimiter for keys of several classes, as keyed.NewClasses has them. Those of classes above MostLight have
// exact buckets only.
func NewClasses[K comparable](classes []limit.Leaky, o Options[K]) *Limiter[K] {
	exact := keyed.NewClasses[K](classes, o.Keys)
	n := o.lines()
	t := &tiers[K]{
		lines: make([]line, n),
		shift: 64 - bits.Len(uint(n-1)),
	}
	exact.OnEvict(t.demote)
	exact.OnCarry(func(lock uint64, carry func(limit.State, keyed.Class) (limit.State, keyed.Class)) {
		each := len(t.lines) / exact.Locks()
		t.carry(t.lines[int(lock)*each:][:each], carry)
	})
	return &Limiter[K]{t, classes[0], lightOf(classes[0]), exact}
}

// lightOf returns half of what an idle key may owe at once, at least what one unit costs.
func lightOf(l limit.Leaky) time.Duration {
	fresh := l.Fresh(0)
	one, all := fresh, fresh
	l.Take(&one, 1, 0)
	l.Take(&all, l.Take(&fresh, 0, 0).Limit, 0)
	return max(l.Debt(one, 0), l.Debt(all, 0)/2)
}

// With returns a limiter of the same keys by another limit, made together with l by limit.CompileLeaky.
func (l *Limiter[K]) With(leaky limit.Leaky) *Limiter[K] {
	return l.OfClass(l.exact.Class(), leaky)
}

// OfClass returns a limiter of the same keys by another limit, for those of a class.
func (l *Limiter[K]) OfClass(c keyed.Class, leaky limit.Leaky) *Limiter[K] {
	return &Limiter[K]{l.tiers, leaky, lightOf(leaky), l.exact.OfClass(c, leaky)}
}

// Succeed returns a limiter that takes the place of l and of those that it shares keys with, as keyed.Store.Succeed has it.
// The first tier stays as large as it is.
func (l *Limiter[K]) Succeed(classes []limit.Leaky, from []keyed.Class) *Limiter[K] {
	return &Limiter[K]{l.tiers, classes[0], lightOf(classes[0]), l.exact.Succeed(classes, from)}
}

// Settle is keyed.Store.Settle.
func (l *Limiter[K]) Settle(now time.Duration) { l.exact.Settle(now) }

// SetMaxKeys changes how many exact buckets there are at most.
func (l *Limiter[K]) SetMaxKeys(n int) { l.exact.SetMaxKeys(n) }

// Forget makes key one that was never seen, and reports whether something was known of it.
func (l *Limiter[K]) Forget(key K) bool {
	p := l.Place(key)
	p.Lock.Lock()
	c := l.lineOf(p.Hash).find(p.Hash)
	if c != nil {
		*c = cell{}
	}
	p.Lock.Unlock()
	return l.exact.Forget(key) || c != nil
}

// Owner returns what key owes.
func (l *Limiter[K]) Owner(key K, now time.Duration) keyed.Owner[K] {
	p := l.Place(key)
	p.Lock.Lock()
	defer p.Lock.Unlock()
	if c := l.lineOf(p.Hash).find(p.Hash); c != nil {
		return l.exact.OwnerOf(key, p, c.state, c.class(), now)
	}
	return l.exact.OwnerAt(key, p, now)
}

// Top returns the keys that owe most, at most n, of those in the second tier: of what is in the first nobody knows the key.
func (l *Limiter[K]) Top(n int, now time.Duration) []keyed.Owner[K] { return l.exact.Top(n, now) }

// lines returns the number of lines, which has to be at least that of the locks.
func (o Options[K]) lines() int {
	n := o.Lines
	if n <= 0 {
		n = cmp.Or(o.Keys.MaxKeys, keyed.DefaultMaxKeys) / len(line{})
	}
	n = min(max(n, keyed.MostShards), MostLines)
	return 1 << bits.Len(uint(n-1))
}

// Take implements keyed.Limiter.
func (l *Limiter[K]) Take(key K, n uint64, now time.Duration) limit.Result {
	p := l.Place(key)
	p.Lock.Lock()
	defer p.Lock.Unlock()
	if !l.exact.Admits(p, now) {
		return keyed.SupersededResult(l.exact.Name())
	}
	r := l.charge(key, p, n, now)
	if !r.Allowed {
		l.tallyOf(p.Hash).refused.Add(1)
	}
	return r
}

// Peek implements keyed.Limiter.
func (l *Limiter[K]) Peek(key K, n uint64, now time.Duration) limit.Result {
	p := l.Place(key)
	p.Lock.Lock()
	defer p.Lock.Unlock()
	return l.Look(key, p, n, now)
}

// Refund implements keyed.Limiter.
func (l *Limiter[K]) Refund(key K, r limit.Result, now time.Duration) bool {
	p := l.Place(key)
	p.Lock.Lock()
	defer p.Lock.Unlock()
	if !l.exact.Admits(p, now) {
		return false
	}
	if c := l.lineOf(p.Hash).find(p.Hash); c != nil {
		return l.leaky.Refund(&c.state, r, l.exact.Time(p, now))
	}
	state := l.exact.State(key, p)
	return state != nil && l.leaky.Refund(state, r, l.exact.Time(p, now))
}

// Counters implements keyed.Limiter. Keys are those of the second tier, those evicted of both.
func (l *Limiter[K]) Counters() keyed.Counters {
	second := l.exact.Counters()
	c := keyed.Counters{Keys: second.Keys, EvictedDrained: second.EvictedDrained}
	for i := range l.tallies {
		t := &l.tallies[i]
		c.Allowed += t.allowed.Load()
		c.Refused += t.refused.Load()
		c.EvictedDrained += t.drained.Load()
		c.EvictedLive += t.lost.Load()
	}
	return c
}

// Place implements keyed.Part.
func (l *Limiter[K]) Place(key K) keyed.Place { return l.exact.Place(key) }

// Ask implements keyed.Part.
func (l *Limiter[K]) Ask(key K, p keyed.Place, n uint64, now time.Duration) limit.Result {
	if !l.exact.Admits(p, now) {
		return keyed.SupersededResult(l.exact.Name())
	}
	r := l.Look(key, p, n, now)
	if !r.Allowed {
		l.tallyOf(p.Hash).refused.Add(1)
	}
	return r
}

// Look implements keyed.Part.
func (l *Limiter[K]) Look(key K, p keyed.Place, n uint64, now time.Duration) limit.Result {
	if c := l.lineOf(p.Hash).find(p.Hash); c != nil {
		at := l.exact.Time(p, now)
		state := l.exact.Recast(p, c.state, c.class(), at)
		return l.take(&state, n, at).WithUndo(0, 0) // nothing was charged
	}
	return l.exact.Look(key, p, n, now)
}

// Charge implements keyed.Part.
func (l *Limiter[K]) Charge(key K, p keyed.Place, n uint64, now time.Duration) limit.Result {
	return l.charge(key, p, n, now)
}

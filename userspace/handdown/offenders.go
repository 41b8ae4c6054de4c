package handdown

import (
	"math/bits"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// shards are how many locks there are, a power of two; one where few sources are remembered.
	shards       = 64
	leastSharded = 64 * shards
	// looks is how many offenders are looked at for one to forget, at each new one, and looksIfFull where one has to
	// be forgotten. Both as in package keyed, whose algorithms have no word for what is remembered here.
	looks       = 2
	looksIfFull = 16
)

// offenders remembers sources, up to a bound. All methods may be called at the same time.
type offenders struct {
	seed   [2]uint64 // nobody can choose sources of one shard
	shards []shard
}

type shard struct {
	sync.Mutex
	index   map[source]*offender
	list    []*offender
	hand    int           // the offender to look at next
	latest  time.Duration // time does not go back
	evicted uint64
	_       [64]byte // the next shard's lock is on another cache line
}

func newOffenders(most int) *offenders {
	n := shards
	if most < leastSharded {
		n = 1
	}
	t := &offenders{[2]uint64{rand.Uint64(), rand.Uint64()}, make([]shard, n)}
	for i := range t.shards {
		t.shards[i].index = make(map[source]*offender)
	}
	return t
}

// with calls f with what is remembered of a source, which begins with nothing, and the time. f has it for itself.
func (t *offenders) with(of source, now time.Duration, s *settings, f func(*offender, time.Duration)) {
	sh := t.shardOf(of)
	sh.Lock()
	defer sh.Unlock()
	o, now := sh.get(of, now, s, len(t.shards))
	f(o, now)
}

func (t *offenders) shardOf(of source) *shard {
	high, low := bits.Mul64(of.high^t.seed[0], of.low^t.seed[1])
	return &t.shards[(high^low)&uint64(len(t.shards)-1)]
}

// get returns the offender and the time. The lock is held.
func (sh *shard) get(of source, now time.Duration, s *settings, shards int) (*offender, time.Duration) {
	sh.latest = max(sh.latest, now)
	o := sh.index[of]
	if o == nil {
		o = sh.add(of, s, max(1, s.mostOffenders/shards))
	}
	return o, sh.latest
}

// add remembers a source that is not known.
func (sh *shard) add(of source, s *settings, most int) *offender {
	for range min(looks, len(sh.list)) {
		if i := sh.next(); sh.list[i].debt(sh.latest, s) <= 0 {
			sh.remove(i)
		}
	}
	// More than one has to go only after a reload has lowered the bound.
	for range looksIfFull {
		if len(sh.list) < most {
			break
		}
		sh.makeRoom(s)
	}
	o := &offender{source: of}
	sh.index[of] = o
	sh.list = append(sh.list, o)
	return o
}

// makeRoom forgets the first of the next offenders of which nothing is to be remembered, or the one that comes next to that.
func (sh *shard) makeRoom(s *settings) {
	least, debt := -1, time.Duration(0)
	for range min(looksIfFull, len(sh.list)) {
		i := sh.next()
		if d := sh.list[i].debt(sh.latest, s); least < 0 || d < debt {
			least, debt = i, d
		}
		if debt <= 0 {
			break
		}
	}
	if debt > 0 {
		sh.evicted++
	}
	sh.remove(least)
}

// next returns where the hand is, and moves it on.
func (sh *shard) next() int {
	if sh.hand >= len(sh.list) {
		sh.hand = 0
	}
	sh.hand++
	return sh.hand - 1
}

// remove forgets offender i and puts the last in its place.
func (sh *shard) remove(i int) {
	delete(sh.index, sh.list[i].source)
	last := len(sh.list) - 1
	sh.list[i], sh.list[last] = sh.list[last], nil
	sh.list = sh.list[:last]
}

// each calls f with all offenders, a shard at a time.
func (t *offenders) each(now time.Duration, f func(o *offender, now time.Duration)) {
	for i := range t.shards {
		sh := &t.shards[i]
		sh.Lock()
		sh.latest = max(sh.latest, now)
		for _, o := range sh.list {
			f(o, sh.latest)
		}
		sh.Unlock()
	}
}

func (t *offenders) evicted() (n uint64) {
	for i := range t.shards {
		sh := &t.shards[i]
		sh.Lock()
		n += sh.evicted
		sh.Unlock()
	}
	return n
}

package nginx

import (
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/headgate/headgate/userspace/keyed"
)

// Options are the settings of a Zone. The zero value is useful.
type Options[K comparable] struct {
	// Name is the Zone of each result.
	Name string
	// MaxKeys is how many keys are remembered, from 1 to keyed.MostKeys; 0 for
	// keyed.DefaultMaxKeys. nginx has an amount of memory instead: 1m is some 8000 addresses.
	MaxKeys int
	// Clone makes a copy of a key to keep, for keys that share memory with the
	// caller: strings.Clone for a string that is a view of a buffer.
	Clone func(K) K
}

// Zone is a limit_req_zone: keys, and the rate of each. A Limiter uses it.
//
// It has one lock, as nginx has, so that which keys are forgotten depends on nothing but
// the calls. It takes 4 bytes for each of MaxKeys at once, and 40 and the key for each that is
// remembered.
type Zone[K comparable] struct {
	*keys[K]
	from Rate // what keys.rate is once a Limiter of this Zone has been asked
	era  uint64
}

// keys is what a zone and those that succeed it share.
type keys[K comparable] struct {
	mu      sync.Mutex
	name    string
	rate    Rate
	era     uint64 // of the limiters that may charge
	maxKeys int
	clone   func(K) K
	seed    maphash.Seed
	order   uint64
	nodes   store[K]
	stamp   uint32 // of the latest charge
	counts  keyed.Counters
}

// NewZone returns an empty zone. rate must be from 1 to MaxRate.
func NewZone[K comparable](rate Rate, o Options[K]) (*Zone[K], error) {
	if rate == 0 {
		return nil, fmt.Errorf("zone %q: %w", o.Name, ErrZero)
	}
	if rate > MaxRate {
		return nil, fmt.Errorf("zone %q: rate %v: at most %v", o.Name, rate, MaxRate)
	}
	if o.MaxKeys == 0 {
		o.MaxKeys = keyed.DefaultMaxKeys
	}
	if o.MaxKeys < 0 || o.MaxKeys > keyed.MostKeys {
		return nil, fmt.Errorf("zone %q: %d keys: from 1 to %d", o.Name, o.MaxKeys, keyed.MostKeys)
	}
	shared := &keys[K]{
		name:    o.Name,
		rate:    rate,
		maxKeys: o.MaxKeys,
		clone:   o.Clone,
		seed:    maphash.MakeSeed(),
		order:   keyed.Orders(1),
		nodes:   store[K]{buckets: make([]uint32, bucketsFor(o.MaxKeys))},
	}
	return &Zone[K]{keys: shared, from: rate}, nil
}

// SetRate changes the rate, and leaves each key's excess as it is, as a reload of nginx does.
// One that is out of range is taken for the nearest that is not.
func (z *Zone[K]) SetRate(rate Rate) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.rate = min(max(rate, 1), MaxRate)
}

// Counters returns what the limiters of z counted together.
func (z *Zone[K]) Counters() keyed.Counters {
	z.mu.Lock()
	defer z.mu.Unlock()
	c := z.counts
	c.Keys = uint64(z.nodes.len)
	return c
}

// add makes a node for a key that has none, and makes room for it as nginx does.
func (z *keys[K]) add(key K, hash uint32, s state, now int64) uint32 {
	z.expire(1, now)
	if z.nodes.len >= z.maxKeys {
		z.expire(0, now)
	}
	if z.nodes.len >= z.maxKeys { // only where the bound was lowered
		z.expire(0, now)
	}
	if z.clone != nil {
		key = z.clone(key)
	}
	return z.nodes.add(key, hash, s)
}

// expire is ngx_http_limit_req_expire. It forgets up to 3-n of the keys that were not used for
// longest: the one with n = 0 in any case, others only if they are idle.
func (z *keys[K]) expire(n int, now int64) {
	for ; n < 3 && z.nodes.oldest != 0; n++ {
		i := z.nodes.oldest
		s := z.nodes.at(i).state
		if n != 0 && !s.isIdle(z.rate, now) {
			return
		}
		// What nginx takes for idle is not always as good as unseen: at 1r/m the next request
		// would be refused for 62.5 seconds.
		if s.behind(z.rate, now) > 0 {
			z.counts.EvictedLive++
		} else {
			z.counts.EvictedDrained++
		}
		z.nodes.remove(i)
	}
}

// isIdle reports whether nginx forgets s early.
func (s state) isIdle(r Rate, now int64) bool {
	ms := now - s.last
	if ms < 0 {
		ms = -ms
	}
	return ms >= longAgo && s.excess <= r.drained(ms)
}

package nginx

import (
	"time"

	"github.com/headgate/headgate/userspace/keyed"
)

// Succeed returns a zone of the same keys with another rate, from 1 to MaxRate, which takes the place of z as
// keyed.Store.Succeed has it: when the first of its limiters is asked, those of z are superseded. Each key's
// excess stays as it is, as after a reload of nginx. Unlike SetRate it lets no request be
// asked about by one rate and charged by another.
func (z *Zone[K]) Succeed(rate Rate) *Zone[K] {
	return &Zone[K]{z.keys, min(max(rate, 1), MaxRate), z.era + 1}
}

// enter reports whether limiters of z may charge, and if so supersedes those of zones that z succeeds. The lock is held.
func (z *Zone[K]) enter() bool {
	switch {
	case z.era < z.keys.era:
		return false
	case z.era > z.keys.era:
		z.keys.era, z.rate = z.era, z.from
	}
	return true
}

// Settle makes the limiters of z count, if none of them was asked yet.
func (z *Zone[K]) Settle(time.Duration) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.enter()
}

// SetMaxKeys changes Options.MaxKeys. Where more keys are there, each new one takes the place of two or more.
// What finds the keys grows with it, which takes time in proportion to the keys that are there, and never shrinks.
func (z *Zone[K]) SetMaxKeys(n int) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if n == 0 {
		n = keyed.DefaultMaxKeys
	}
	z.maxKeys = min(max(n, 1), keyed.MostKeys)
	z.nodes.grow(bucketsFor(z.maxKeys))
}

// Forget makes key one that was never seen, and reports whether something was known of it.
func (z *Zone[K]) Forget(key K) bool {
	p := z.place(key)
	p.Lock.Lock()
	defer p.Lock.Unlock()
	i := z.nodes.find(key, uint32(p.Hash))
	if i != 0 {
		z.nodes.remove(i)
	}
	return i != 0
}

// pause is how many keys Top looks at in one go.
const pause = 4096

// Top returns the keys with the largest excess, at most n, the first the largest. It gives way to others now and then, so
// that keys that change meanwhile may be missing.
func (z *Zone[K]) Top(n int, now time.Duration) []keyed.Owner[K] {
	var most keyed.Most[K]
	for i, more := uint32(1), true; more; i += pause {
		more = z.addTo(&most, n, i, now)
	}
	return most.Sorted()
}

// addTo adds the keys of the next nodes from first on, and reports whether there are more.
func (z *Zone[K]) addTo(most *keyed.Most[K], n int, first uint32, now time.Duration) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	last := min(first+pause-1, z.nodes.used)
	for i := first; i <= last; i++ {
		node := z.nodes.at(i)
		if node.newer == 0 && z.nodes.newest != i {
			continue // free
		}
		most.Add(n, z.owes(node, now))
	}
	return last < z.nodes.used
}

// Owner returns how far key is ahead of the rate.
func (z *Zone[K]) Owner(key K, now time.Duration) keyed.Owner[K] {
	p := z.place(key)
	p.Lock.Lock()
	defer p.Lock.Unlock()
	if i := z.nodes.find(key, uint32(p.Hash)); i != 0 {
		return z.owes(z.nodes.at(i), now)
	}
	return keyed.Owner[K]{Key: key}
}

func (z *Zone[K]) owes(n *node[K], now time.Duration) keyed.Owner[K] {
	o := keyed.Owner[K]{Key: n.key}
	if ahead := n.behind(z.rate, ticks(now)); ahead > 0 {
		o.Owed, o.Debt = uint64(ahead), n.until(z.rate, n.excess+milli, now)
	}
	return o
}

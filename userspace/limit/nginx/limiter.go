package nginx

import (
	"hash/maphash"
	"time"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
)

// MaxBurst is the largest burst and delay; larger ones are taken for it.
const MaxBurst = 1_000_000_000_000_000

// NoDelay is the delay of a Limiter that delays nothing. A delay of the burst does the same, except
// in the clock's first minute where the burst is 0.
const NoDelay = MaxBurst

// Every Limiter is a keyed.Limiter.
var _ keyed.Limiter[string] = (*Limiter[string])(nil)

// Limiter is a limit_req: a zone with a burst and a delay. Limiters of one zone share its keys.
// It is a keyed.Limiter, except that the zone keeps to nginx's rules where the clock goes back.
// Its counters are those of the zone.
//
// Several limits together, by keyed.All, do what several limit_req in a location of nginx do.
type Limiter[K comparable] struct {
	zone         *Zone[K]
	burst, delay int64 // milli-requests
}

// Limiter returns a limit by z that lets burst requests more than one pass at one instant. Of the burst
// the first delay go on at once, those beyond wait for their turn: 0 is nginx's
// default, and NoDelay is its nodelay.
func (z *Zone[K]) Limiter(burst, delay uint64) *Limiter[K] {
	return &Limiter[K]{
		zone:  z,
		burst: int64(min(burst, MaxBurst)) * milli,
		delay: int64(min(delay, MaxBurst)) * milli,
	}
}

// Take implements keyed.Limiter.
func (l *Limiter[K]) Take(key K, n uint64, now time.Duration) limit.Result {
	p := l.Place(key)
	p.Lock.Lock()
	defer p.Lock.Unlock()
	return l.take(key, p, n, now)
}

// Peek implements keyed.Limiter.
func (l *Limiter[K]) Peek(key K, n uint64, now time.Duration) limit.Result {
	p := l.Place(key)
	p.Lock.Lock()
	defer p.Lock.Unlock()
	return l.Look(key, p, n, now)
}

// Counters implements keyed.Limiter.
func (l *Limiter[K]) Counters() keyed.Counters { return l.zone.Counters() }

// Place implements keyed.Part.
func (l *Limiter[K]) Place(key K) keyed.Place {
	return l.zone.place(key)
}

func (z *keys[K]) place(key K) keyed.Place {
	return keyed.Place{Lock: &z.mu, Order: z.order, Hash: maphash.Comparable(z.seed, key)}
}

// Look implements keyed.Part.
func (l *Limiter[K]) Look(key K, p keyed.Place, n uint64, now time.Duration) limit.Result {
	s := unseen(ticks(now))
	if i := l.zone.nodes.find(key, uint32(p.Hash)); i != 0 {
		s = l.zone.nodes.at(i).state
	}
	return l.result(s, n, now)
}

// Ask implements keyed.Part. It is ngx_http_limit_req_lookup: a key that is new is remembered from
// here on, by other limits than the last as one that was charged nothing at time 0.
func (l *Limiter[K]) Ask(key K, p keyed.Place, n uint64, now time.Duration) limit.Result {
	z, ms := l.zone, ticks(now)
	if !z.enter() {
		return keyed.SupersededResult(z.name)
	}
	i := z.nodes.find(key, uint32(p.Hash))
	if i != 0 {
		z.nodes.touch(i)
		return z.counted(l.result(z.nodes.at(i).state, n, now))
	}
	r := l.result(unseen(ms), n, now)
	if r.Allowed && n != 0 {
		z.add(key, uint32(p.Hash), newcomer(p, ms), ms)
	}
	return z.counted(r)
}

// newcomer returns what a key is that Ask has to remember: nginx charges the last limit as it
// asks, and takes time 0 for the last use in the others.
func newcomer(p keyed.Place, now int64) state {
	if p.Last {
		return unseen(now)
	}
	return state{}
}

// Charge implements keyed.Part. It is what ngx_http_limit_req_account does to one limit, so it
// does not ask about the burst again.
func (l *Limiter[K]) Charge(key K, p keyed.Place, n uint64, now time.Duration) limit.Result {
	z := l.zone
	if n == 0 {
		z.counts.Allowed++
		return l.Look(key, p, 0, now)
	}
	i := z.nodes.find(key, uint32(p.Hash))
	if i == 0 { // forgotten since Ask, for another key of the same decision
		i = z.add(key, uint32(p.Hash), newcomer(p, ticks(now)), ticks(now))
	}
	return l.charge(i, n, now)
}

// take is Ask and, if that allows it, Charge, with one look at the keys.
func (l *Limiter[K]) take(key K, p keyed.Place, n uint64, now time.Duration) limit.Result {
	z, ms := l.zone, ticks(now)
	if !z.enter() {
		return keyed.SupersededResult(z.name)
	}
	i := z.nodes.find(key, uint32(p.Hash))
	s := unseen(ms)
	if i != 0 {
		z.nodes.touch(i)
		s = z.nodes.at(i).state
	}
	if n > s.fits(z.rate, l.burst, ms) {
		return z.counted(l.refused(s, n, now))
	}
	if n == 0 {
		z.counts.Allowed++
		return l.result(s, 0, now)
	}
	if i == 0 {
		i = z.add(key, uint32(p.Hash), s, ms)
	}
	return l.charge(i, n, now)
}

// charge charges n units to node i, at least one, and returns what that leaves.
func (l *Limiter[K]) charge(i uint32, n uint64, now time.Duration) limit.Result {
	z, node := l.zone, l.zone.nodes.at(i)
	before := node.state
	node.state = before.charged(z.rate, n, ticks(now))
	node.stamp = z.nextStamp()
	z.counts.Allowed++
	return withUndo(l.allowed(node.state, now), before, node.state, node.stamp)
}

// counted counts r if it is a refusal, and returns it.
func (z *keys[K]) counted(r limit.Result) limit.Result {
	if !r.Allowed {
		z.counts.Refused++
	}
	return r
}

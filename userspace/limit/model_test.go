package limit_test

import (
	"math"
	"math/big"
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// The models say independently what an algorithm must, slowly and simply: in
// numbers of any size, from all that was ever charged, and without formulas for
// the times, which they search for.

// charged is what a model remembers.
type charged struct {
	at   time.Duration
	n    uint64
	cost uint64 // of a unit, in the model that charged it
}

// model is what a limit comes to in the end.
type model interface {
	// room returns how many units more fit at now, and whether that is all that
	// will ever fit: nothing that was charged matters any more.
	room(all []charged, now time.Duration) (uint64, bool)
	charge(n uint64, now time.Duration) charged
	// complete sets in r, for n units, what only some limiters tell.
	complete(r *limit.Result, all []charged, n uint64, now time.Duration)
}

// bucket is a leaky bucket in its continuous form: it holds what was charged and
// leaks all the time. Levels are in ticks of 2^-shift ns, as numbers of any size.
type bucket struct {
	cost, limit, delay uint64
	shift              uint8
}

// level is what the bucket holds at now.
func (b bucket) level(all []charged, now time.Duration) *big.Int {
	level, last := new(big.Int), time.Duration(math.MinInt64)
	leak := func(to time.Duration) {
		passed := new(big.Int).Sub(big.NewInt(int64(to)), big.NewInt(int64(last)))
		level.Sub(level, passed.Lsh(passed, uint(b.shift)))
		if level.Sign() < 0 {
			level.SetUint64(0)
		}
		last = to
	}
	for _, c := range all {
		leak(c.at)
		level.Add(level, product(c.cost, c.n))
	}
	leak(now)
	return level
}

func (b bucket) room(all []charged, now time.Duration) (uint64, bool) {
	level := b.level(all, now)
	free := product(b.cost, b.limit)
	if free.Sub(free, level).Sign() < 0 {
		return 0, false
	}
	return free.Div(free, unsigned(b.cost)).Uint64(), level.Sign() == 0
}

func (b bucket) charge(n uint64, now time.Duration) charged { return charged{now, n, b.cost} }

func (b bucket) complete(r *limit.Result, all []charged, n uint64, now time.Duration) {
	level := b.level(all, now)
	level.Add(level, product(b.cost, n))
	if late := new(big.Int).Sub(level, product(b.cost, b.delay+1)); r.Allowed && n > 0 && late.Sign() > 0 {
		r.Delay = time.Duration(ceil(late, big.NewInt(1<<b.shift)).Int64())
	}
	milli := ceil(level.Mul(level, big.NewInt(1000)), unsigned(b.cost))
	switch milli.Sub(milli, big.NewInt(1000)); {
	case milli.Sign() <= 0:
	case milli.IsUint64():
		r.Excess = milli.Uint64()
	default:
		r.Excess = math.MaxUint64
	}
}

func product(a, b uint64) *big.Int { return new(big.Int).Mul(unsigned(a), unsigned(b)) }

// ceil returns a/b, rounded up.
func ceil(a, b *big.Int) *big.Int {
	quo, rest := new(big.Int).DivMod(a, b, new(big.Int))
	if rest.Sign() != 0 {
		quo.Add(quo, big.NewInt(1))
	}
	return quo
}

// quota is what the models of windows have in common.
type quota struct {
	count uint64
	per   time.Duration
}

func (q quota) charge(n uint64, now time.Duration) charged { return charged{at: now, n: n} }

func (q quota) complete(*limit.Result, []charged, uint64, time.Duration) {}

// fixed is a window that begins with the first unit that none contains.
type fixed struct{ quota }

func (f fixed) room(all []charged, now time.Duration) (uint64, bool) {
	used, end := uint64(0), time.Duration(math.MinInt64)
	for _, c := range all {
		if c.at >= end {
			used, end = 0, c.at+f.per
		}
		used += c.n
	}
	if now >= end {
		return f.count, true
	}
	return f.count - min(used, f.count), false
}

// grid is a sliding window over periods, of which it keeps each.
type grid struct{ quota }

func (g grid) room(all []charged, now time.Duration) (uint64, bool) {
	periods := map[time.Duration]uint64{}
	tick, idle := time.Duration(0), true
	move := func(to time.Duration) {
		for !idle && to >= tick+g.per {
			tick += g.per
			idle = periods[tick] == 0 && periods[tick-g.per] == 0
		}
	}
	for _, c := range all {
		if move(c.at); idle {
			tick, idle = c.at, false
			clear(periods)
		}
		periods[tick] += c.n
	}
	if move(now); idle {
		return g.count, true
	}
	left := big.NewInt(int64(tick + g.per - now))
	used := left.Mul(left, unsigned(periods[tick-g.per]))
	used.Div(used, big.NewInt(int64(g.per)))
	used.Add(used, unsigned(periods[tick]))
	free := used.Sub(unsigned(g.count), used)
	if free.Sign() < 0 {
		return 0, false
	}
	return free.Uint64(), false
}

// first searches for the shortest time, at most such, after which ok holds. It
// must hold from then on.
func first(most time.Duration, ok func(time.Duration) bool) time.Duration {
	from, to := time.Duration(-1), most
	for to-from > 1 {
		if middle := from + (to-from)/2; ok(middle) {
			to = middle
		} else {
			from = middle
		}
	}
	return to
}

// predict returns the Result for n units at now. Nothing that was charged
// matters any more after the time most.
func predict(m model, all []charged, n uint64, now, most time.Duration) limit.Result {
	whole, _ := m.room(nil, now)
	room, _ := m.room(all, now)
	r := limit.Result{Allowed: n <= room, Limit: whole}
	fits := func(least uint64) time.Duration {
		return first(most, func(d time.Duration) bool { room, _ := m.room(all, now+d); return room >= least })
	}
	m.complete(&r, all, n, now)
	switch {
	case n > whole:
		r.RetryAfter = limit.Never
	case !r.Allowed:
		r.RetryAfter = fits(n)
	case n > 0:
		all = append(all, m.charge(n, now))
	}
	if r.Remaining, _ = m.room(all, now); r.Remaining < whole {
		r.NextAfter = fits(r.Remaining + 1)
	}
	r.ResetAfter = first(most, func(d time.Duration) bool { _, idle := m.room(all, now+d); return idle })
	return r
}

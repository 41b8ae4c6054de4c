package redisstore

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/shared"
)

// bucket is a leaky bucket in numbers of any size, and without formulas for ticks: it holds units, of which a rate drains all the time.
type bucket struct {
	level *big.Rat // units, at the time at
	at    int64    // µs
}

// perMicro returns the rate of a limit.
func perMicro(l shared.Limit) *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(l.Count), big.NewInt(l.Per.Microseconds()))
}

// drain brings b to now. A clock that was set back goes on from there.
func (b *bucket) drain(l shared.Limit, now int64) {
	passed := new(big.Rat).SetInt64(max(now-b.at, 0))
	if b.level.Sub(b.level, passed.Mul(passed, perMicro(l))).Sign() < 0 {
		b.level.SetInt64(0)
	}
	b.at = now
}

// take says what n units come to.
func (b *bucket) take(l shared.Limit, n uint64) limit.Result {
	most := int64(l.Burst + 1)
	wait := func(above int64) time.Duration { // until the level is no more than that
		over := new(big.Rat).Sub(b.level, big.NewRat(above, 1))
		if over.Sign() <= 0 {
			return 0
		}
		return micros(ceil(over.Quo(over, perMicro(l))))
	}
	total := new(big.Rat).Add(b.level, big.NewRat(int64(n), 1))
	r := limit.Result{Allowed: n == 0 || total.Cmp(big.NewRat(most, 1)) <= 0, Zone: "z", Limit: l.Burst + 1}
	r.Excess = max(ceil(new(big.Rat).Mul(b.level, big.NewRat(1000, 1)))+n*1000, 1000) - 1000
	switch {
	case n > l.Burst+1:
		r.RetryAfter = limit.Never
	case !r.Allowed:
		r.RetryAfter = wait(most - int64(n))
	case n > 0:
		b.level = total
		r.Delay = wait(int64(l.Delay) + 1)
	}
	owed := min(ceil(b.level), l.Burst+1)
	r.Remaining, r.ResetAfter = l.Burst+1-owed, wait(0)
	if owed > 0 {
		r.NextAfter = wait(int64(owed) - 1)
	}
	return r
}

func ceil(r *big.Rat) uint64 {
	quo, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		quo.Add(quo, big.NewInt(1))
	}
	return quo.Uint64()
}

func drawLeaky(t *rapid.T) shared.Limit {
	l := shared.Limit{Algorithm: config.Leaky}
	l.Per = rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, "per")
	l.Count = rapid.SampledFrom([]uint64{1, 3, 7, 10, 59, 999, 3_000, 100_000, 99_999_989}).Draw(t, "count")
	l.Burst = rapid.Uint64Range(0, 1<<rapid.IntRange(0, 12).Draw(t, "burst bits")).Draw(t, "burst")
	l.Delay = rapid.Uint64Range(0, l.Burst).Draw(t, "delay")
	return l
}

// drawStep draws a time that matters to l.
func drawStep(t *rapid.T, l shared.Limit) time.Duration {
	unit := max(l.Per/time.Duration(l.Count), 2*time.Microsecond)
	return time.Duration(rapid.OneOf(rapid.Int64Range(0, int64(unit)), rapid.Int64Range(0, int64(unit)*int64(l.Burst+2))).Draw(t, "passed"))
}

// TestLeakyIsExact compares a key with a bucket of any rate, also where no clock could tell a unit's time exactly, whose rate changes,
// and by a clock that goes back.
func TestLeakyIsExact(t *testing.T) {
	l, _ := newLab(t, server(t), "")
	checks := 0
	rapid.Check(t, func(t *rapid.T) {
		checks++
		prefix := fmt.Sprint(checks)
		store, now := l.store(prefix), drawLeaky(t)
		kept, of := bucket{level: new(big.Rat)}, now // what is in Redis, and the limit that it was charged by
		for range 30 {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				now = drawLeaky(t)
			case 1:
				l.setBack(drawStep(t, now))
			}
			l.pass(drawStep(t, now))
			l.local.Add(believed.Microseconds()) // so that Redis is asked
			setBack := l.clock.Load() < kept.at
			b := bucket{new(big.Rat).Set(kept.level), kept.at}
			b.drain(of, l.clock.Load())
			if b.level.Sign() > 0 && perMicro(of).Cmp(perMicro(now)) != 0 {
				faster := bucket{new(big.Rat).Set(kept.level), kept.at}
				if faster.drain(now, l.clock.Load()); faster.level.Cmp(b.level) < 0 {
					b = faster
				}
				if most := big.NewRat(int64(now.Burst+1), 1); setBack && b.level.Cmp(most) > 0 {
					b.level = most
				}
				b.round(t, store, now)
			}
			n := rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64Range(0, now.Burst+2)).Draw(t, "n")
			want := b.take(now, n)
			charges := []shared.Charge{{Zone: "z", Limit: now, Key: "k", N: n}}
			if _, err := store.Take("tag", charges, 0); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, charges[0].Result, ignoreUndo); diff != "" {
				t.Fatalf("%+v: %d units, -want +got\n%s", now, n, diff)
			}
			if want.Allowed && n > 0 || setBack {
				kept, of = b, now
			}
		}
	})
}

// round makes the level what the script says of one of another rate: some ticks more, as it rounds up, and never less.
func (b *bucket) round(t *rapid.T, store *Store, now shared.Limit) {
	t.Helper()
	a, probe := store.begin(), []shared.Charge{{Zone: "z", Limit: now, Key: "k"}}
	if err := a.prepare(store, "tag", probe); err != nil {
		t.Fatal(err)
	}
	if _, err := store.ask(a, probe, peeking, "", 0); err != nil {
		t.Fatal(err)
	}
	found := &a.each[0]
	level := new(big.Rat).SetFrac(new(big.Int).SetUint64(found.state.x), new(big.Int).SetUint64(found.terms.p))
	more := new(big.Rat).Sub(level, b.level)
	if more.Sign() < 0 || more.Cmp(big.NewRat(3, int64(found.terms.p))) > 0 {
		t.Fatalf("%v: %v units owed became %v", now, b.level, level)
	}
	b.level = level
}

// TestOtherRatesFreeNothing: machines and rules whose limits differ, as while a file is rolled out or where machines adapt to their load,
// together let pass no more of a key than the one that allows most.
func TestOtherRatesFreeNothing(t *testing.T) {
	_, store := newLab(t, server(t), "hg")
	passed := 0
	for i := range 400 {
		c := shared.Charge{Zone: "z", Limit: leakyLimit(10, time.Hour, 99), Key: "k", N: 1}
		if i%2 > 0 {
			c.Limit = leakyLimit(7, time.Hour, 0)
		}
		if allowed, _ := take(t, store, c); allowed {
			passed++
		}
	}
	if passed != 100 {
		t.Errorf("%d passed at an instant, want 100", passed)
	}
}

// TestFasterRate: a key that owed an hour at a slow rate owes a moment at a fast one, and one that owed a moment no longer at a slow one.
func TestFasterRate(t *testing.T) {
	slow, fast := leakyLimit(1, time.Hour, 9), leakyLimit(1000, time.Second, 0)
	for name, limits := range map[string][2]shared.Limit{"faster": {slow, fast}, "slower": {fast, slow}} {
		l, store := newLab(t, server(t), "hg")
		c := shared.Charge{Zone: "z", Limit: limits[0], Key: "k", N: limits[0].Burst + 1}
		take(t, store, c)
		c.Limit, c.N = limits[1], limits[1].Burst+1
		if allowed, _ := take(t, store, c); allowed {
			t.Errorf("%s: allowed at once", name)
		}
		l.pass(time.Duration(limits[0].Burst+1) * time.Millisecond)
		l.local.Add(believed.Microseconds())
		if allowed, got := take(t, store, c); !allowed {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestClockSetBack: what is owed or counted stays so, and passes from the new time on.
func TestClockSetBack(t *testing.T) {
	for _, algorithm := range []config.Algorithm{config.Leaky, config.Window, config.Sliding} {
		t.Run(string(algorithm), func(t *testing.T) {
			l, store := newLab(t, server(t), "")
			c := shared.Charge{Zone: "z", Limit: shared.Limit{Algorithm: algorithm, Count: 2, Per: time.Second}, Key: "k", N: 1}
			c.Limit.Burst, c.Limit.Delay = 1, 1
			for range 2 {
				if allowed, _ := take(t, store, c); !allowed {
					t.Fatal("refused")
				}
			}
			l.setBack(time.Hour)
			allowed, got := take(t, store, c)
			if allowed || got[0].Result.ResetAfter > 2*time.Second {
				t.Fatalf("an hour before: %+v", got)
			}
			l.pass(2 * time.Second)
			if allowed, got := take(t, store, c); !allowed {
				t.Errorf("2 s later: %+v", got)
			}
		})
	}
}

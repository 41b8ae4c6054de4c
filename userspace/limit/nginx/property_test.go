package nginx_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/limit/nginx"
)

// step draws how far a clock moves, mostly a little, sometimes back, rarely by an hour.
func step(t *rapid.T) int64 {
	return rapid.OneOf(
		rapid.Int64Range(0, 3), rapid.Int64Range(0, 1500), rapid.Int64Range(-1500, 0),
		rapid.SampledFrom([]int64{-3_600_000, -60_001, -60_000, -59_999, 59_999, 60_000, 60_001, 62_500, 3_600_000}),
	).Draw(t, "step")
}

func drawRate(t *rapid.T) nginx.Rate {
	text := rapid.SampledFrom([]string{"1r/m", "7r/m", "30r/m", "1r/s", "3r/s", "100r/s", "3000r/s"}).Draw(t, "rate")
	r, err := nginx.ParseRate(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestModel holds several limits of small zones to the C, written down once more: verdicts, delays, each
// look-up, and which keys are forgotten.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "limits")
		var limits []*modelLimit
		var uses []use
		for range n {
			rate, room := drawRate(t), rapid.IntRange(1, 6).Draw(t, "room")
			burst, delay := rapid.Uint64Range(0, 4).Draw(t, "burst"), rapid.Uint64Range(0, 4).Draw(t, "delay")
			limits = append(limits, &modelLimit{
				zone: &model{rate: uint64(rate), room: room}, burst: int64(burst) * 1000, delay: int64(delay) * 1000})
			z, err := nginx.NewZone(rate, nginx.Options[string]{MaxKeys: room})
			if err != nil {
				t.Fatal(err)
			}
			uses = append(uses, use{z.Limiter(burst, delay), ""})
		}
		now := rapid.SampledFrom([]int64{0, 40_000, boot}).Draw(t, "start")
		for range rapid.IntRange(1, 100).Draw(t, "requests") {
			now = max(now+step(t), 0)
			var keys []string
			for i := range uses {
				uses[i].key = rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "f", "g", "h"}).Draw(t, "key")
				keys = append(keys, uses[i].key)
			}
			want, got := handle(limits, keys, now), locate(uses, ms(now))
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{}), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("at %d ms with %q (-model +got):\n%s", now, keys, diff)
			}
		}
		for i, u := range uses {
			if keys := u.limiter.Counters().Keys; keys != uint64(len(limits[i].zone.queue)) {
				t.Fatalf("zone %d has %d keys, the model %d", i, keys, len(limits[i].zone.queue))
			}
		}
	})
}

// TestCase58Result: what a result promises is what then happens, also for many units and between milliseconds.
func TestCase58Result(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z, err := nginx.NewZone(drawRate(t), nginx.Options[string]{})
		if err != nil {
			t.Fatal(err)
		}
		burst := rapid.Uint64Range(0, 5).Draw(t, "burst")
		l, other := z.Limiter(burst, burst), z.Limiter(8, 8)
		now := ms(rapid.SampledFrom([]int64{0, boot}).Draw(t, "start"))
		for range rapid.IntRange(1, 30).Draw(t, "requests") {
			now += ms(step(t)) + time.Duration(rapid.Int64Range(0, 999_999).Draw(t, "ns"))
			if rapid.IntRange(0, 4).Draw(t, "other") == 0 {
				other.Take("k", 3, now)
			}
			n := rapid.Uint64Range(0, 7).Draw(t, "n")
			peek := l.Peek("k", n, now)
			r := l.Take("k", n, now)
			if withoutUndo(peek) != withoutUndo(r) {
				t.Fatalf("Peek %+v, Take %+v", peek, r)
			}
			if err := promises(l, n, r, now); err != nil {
				t.Fatalf("%d units at %v: %v (%+v)", n, now, err, r)
			}
		}
	})
}

// promises checks r, the result of n units at now, against what l says of the time after.
func promises(l *nginx.Limiter[string], n uint64, r limit.Result, now time.Duration) error {
	allows := func(n uint64, at time.Duration) bool { return l.Peek("k", n, at).Allowed }
	switch {
	case r.Remaining > r.Limit:
		return fmt.Errorf("more remain than the limit")
	case !allows(r.Remaining, now) || allows(r.Remaining+1, now):
		return fmt.Errorf("not exactly %d more are allowed", r.Remaining)
	case r.Allowed != (r.RetryAfter == 0), n > r.Limit != (r.RetryAfter == limit.Never):
		return fmt.Errorf("retry after %v", r.RetryAfter)
	case r.RetryAfter > 0 && (!allows(n, now+r.RetryAfter) || allows(n, now+r.RetryAfter-1)):
		return fmt.Errorf("retry after %v is not when it is allowed", r.RetryAfter)
	case (r.NextAfter == 0) != (r.Remaining == r.Limit):
		return fmt.Errorf("next after %v with %d of %d", r.NextAfter, r.Remaining, r.Limit)
	case r.NextAfter > 0 && (!allows(r.Remaining+1, now+r.NextAfter) || allows(r.Remaining+1, now+r.NextAfter-1)):
		return fmt.Errorf("next after %v is not when there is more", r.NextAfter)
	}
	return reset(l, r, now)
}

// reset checks that the key is as good as unseen when r says so, and not just before: then all of the
// limit is free, and none is owed for the request that comes next.
func reset(l *nginx.Limiter[string], r limit.Result, now time.Duration) error {
	unseen := func(at time.Duration) bool {
		k, none := withoutUndo(l.Peek("k", 1, at)), withoutUndo(l.Peek("none", 1, at))
		return k == none
	}
	if !unseen(now + r.ResetAfter) {
		return fmt.Errorf("not reset after %v", r.ResetAfter)
	}
	if r.ResetAfter > 0 && unseen(now+r.ResetAfter-1) {
		return fmt.Errorf("reset before %v", r.ResetAfter)
	}
	return nil
}

// TestUnits: n units are n requests at one instant, all or none.
func TestUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := drawRate(t)
		burst := rapid.Uint64Range(0, 6).Draw(t, "burst")
		var limiters [2]*nginx.Limiter[string]
		for i := range limiters {
			z, err := nginx.NewZone(rate, nginx.Options[string]{})
			if err != nil {
				t.Fatal(err)
			}
			limiters[i] = z.Limiter(burst, burst/2)
		}
		now := ms(boot)
		for range 20 {
			now += ms(step(t))
			n := rapid.Uint64Range(1, 8).Draw(t, "n")
			r := limiters[0].Take("k", n, now)
			if want := limiters[1].Peek("k", 0, now).Remaining >= n; r.Allowed != want {
				t.Fatalf("%d units: allowed %v, want %v", n, r.Allowed, want)
			}
			for i := uint64(0); r.Allowed && i < n; i++ {
				one := limiters[1].Take("k", 1, now)
				if i == n-1 && withoutUndo(one) != withoutUndo(r) {
					t.Fatalf("%d units: %+v, the last of as many: %+v", n, r, one)
				}
			}
		}
	})
}

package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
	"github.com/headgate/headgate/userspace/shared"
)

// ignoreUndo compares what users see of a Result.
var ignoreUndo = cmpopts.IgnoreUnexported(limit.Result{})

// zone is a limit in both worlds. Several with the same name share their keys.
type zone struct {
	name    string
	limit   shared.Limit
	limiter keyed.Limiter[string]
}

// zones are drawn: those of leaky have rates of which a unit takes whole µs, so that limit.Leaky rounds nothing.
func drawZones(t *rapid.T) []zone {
	var all []zone
	options := func(name string) keyed.Options[string] { return keyed.Options[string]{Name: name, Shards: 1} }

	r := rapid.SampledFrom([]rate.Rate{{Count: 10, Per: time.Second}, {Count: 30, Per: time.Minute}, {Count: 100_000, Per: time.Second}}).Draw(t, "rate")
	r.Unit = rate.Requests
	var specs []limit.LeakySpec
	for range 2 {
		burst := rapid.Uint64Range(0, 5).Draw(t, "burst")
		specs = append(specs, limit.LeakySpec{Rate: r, Burst: burst, Delay: rapid.Uint64Range(0, burst).Draw(t, "delay")})
	}
	limits, err := limit.CompileLeaky(specs)
	if err != nil {
		t.Fatal(err)
	}
	first := keyed.New[string](limits[0], options("leaky"))
	for i, limiter := range []keyed.Limiter[string]{first, first.With(limits[1])} {
		l := shared.Limit{Algorithm: config.Leaky, Count: r.Count, Per: r.Per, Burst: specs[i].Burst, Delay: specs[i].Delay}
		all = append(all, zone{"leaky", l, limiter})
	}

	per := time.Duration(rapid.IntRange(1, 50).Draw(t, "per")) * 7 * time.Microsecond
	w, err := limit.NewWindow(rapid.Uint64Range(1, 6).Draw(t, "window"), per)
	if err != nil {
		t.Fatal(err)
	}
	s, err := limit.NewSliding(rapid.Uint64Range(1, 6).Draw(t, "sliding"), per)
	if err != nil {
		t.Fatal(err)
	}
	_, inWindow := w.Take(new(limit.WindowState), 0, 0), w.Take(new(limit.WindowState), 0, 0).Limit
	inSliding := s.Take(new(limit.SlidingState), 0, 0).Limit
	most := rapid.Uint64Range(1, 8).Draw(t, "concurrent")
	return append(all,
		zone{"window", shared.Limit{Algorithm: config.Window, Count: inWindow, Per: per}, keyed.New[string](w, options("window"))},
		zone{"sliding", shared.Limit{Algorithm: config.Sliding, Count: inSliding, Per: per}, keyed.New[string](s, options("sliding"))},
		zone{"concurrent", shared.Limit{Algorithm: config.Concurrent, Count: most}, keyed.NewSlots(most, options("concurrent"))},
	)
}

// both is one request in both worlds.
type both struct {
	ours  []shared.Charge
	model []keyed.Charge[string]
}

func (b *both) add(z zone, key string, n uint64, dryRun int) {
	b.ours = append(b.ours, shared.Charge{Zone: z.name, Limit: z.limit, Key: key, N: n, DryRun: dryRun})
	b.model = append(b.model, keyed.Charge[string]{Limiter: z.limiter, Key: key, N: n, DryRun: dryRun})
}

func drawRequest(t *rapid.T, zones []zone) (b both) {
	for range rapid.IntRange(1, 4).Draw(t, "charges") {
		b.add(rapid.SampledFrom(zones).Draw(t, "zone"), rapid.SampledFrom([]string{"a", "{b}:c"}).Draw(t, "key"),
			rapid.Uint64Range(0, 7).Draw(t, "n"), rapid.SampledFrom([]int{0, 0, 0, 1, 7}).Draw(t, "dry run"))
	}
	return b
}

// TestModel compares whole requests with those of package keyed, which has the limits in this process, at any µs.
func TestModel(t *testing.T) {
	addr := server(t)
	l, _ := newLab(t, addr, "")
	checks := 0
	rapid.Check(t, func(t *rapid.T) {
		checks++
		store, zones := l.store(fmt.Sprint(checks)), drawZones(t)
		for range 40 {
			l.pass(time.Duration(rapid.OneOf(
				rapid.IntRange(0, 100), rapid.IntRange(0, 1000), rapid.IntRange(0, 5_000_000)).Draw(t, "passed")) * time.Microsecond)
			b := drawRequest(t, zones)
			now := time.Duration(l.clock.Load()) * time.Microsecond
			if rapid.IntRange(0, 4).Draw(t, "peek") == 0 {
				peek(t, store, b, now)
				continue
			}
			b.compare(t, store, now)
		}
		l.expiries(fmt.Sprint(checks, ":"), 2*time.Minute)
	})
}

func (b *both) compare(t *rapid.T, store *Store, now time.Duration) {
	want := keyed.All(b.model, now)
	got, err := store.Take("tag", b.ours, 0)
	if err != nil || got != want {
		t.Fatalf("%v, %v; want %v: %+v", got, err, want, b.ours)
	}
	locally := false
	for i := range b.ours {
		locally = locally || !b.ours[i].Known
	}
	for i := range b.ours {
		if b.ours[i].Known {
			sameResult(t, b.ours[i], b.model[i].Result)
		} else if want {
			t.Fatalf("the request was allowed, and limit %d is not known", i)
		}
	}
	for i := range b.ours { // half of what is under way ends at once
		if b.ours[i].Lease == "" || i%2 == 0 {
			continue
		}
		b.model[i].Limiter.Refund(b.model[i].Key, b.model[i].Result, now)
		store.Release("tag", b.ours[i:i+1])
		store.Release("tag", b.ours[i:i+1]) // the second time does nothing
	}
}

// peek compares what charges nothing: the store with many keys at once, as keyed has no such.
func peek(t *rapid.T, store *Store, b both, now time.Duration) {
	if err := store.Peek("tag", b.ours[:1]); err != nil {
		t.Fatal(err)
	}
	sameResult(t, b.ours[0], b.model[0].Limiter.Peek(b.model[0].Key, b.model[0].N, now))
}

func sameResult(t *rapid.T, c shared.Charge, want limit.Result) {
	if c.Limit.Algorithm == config.Sliding { // Redis' clock has no ns
		want.NextAfter, want.RetryAfter, want.ResetAfter = whole(want.NextAfter), whole(want.RetryAfter), whole(want.ResetAfter)
	}
	if diff := cmp.Diff(want, c.Result, ignoreUndo); diff != "" {
		t.Fatalf("%+v: -want +got\n%s", c, diff)
	}
}

// TestAnotherLength: a window of another length begins anew, and one of another count goes on.
func TestAnotherLength(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	for _, algorithm := range []config.Algorithm{config.Window, config.Sliding} {
		c := shared.Charge{Zone: string(algorithm), Limit: shared.Limit{Algorithm: algorithm, Count: 3, Per: time.Second}, Key: "k", N: 3}
		take(t, store, c)
		l.pass(time.Millisecond)
		c.Limit.Count, c.N = 5, 3
		if allowed, got := take(t, store, c); allowed || got[0].Result.Remaining != 2 {
			t.Errorf("%s, another count: %v, %+v", algorithm, allowed, got)
		}
		c.Limit.Per = 10 * time.Second
		if allowed, got := take(t, store, c); !allowed || got[0].Result.Remaining != 2 || got[0].Result.ResetAfter < 10*time.Second {
			t.Errorf("%s, another length: %v, %+v", algorithm, allowed, got)
		}
	}
}

// TestOtherLengthsFreeNothing: machines whose windows have other lengths, as while a file is rolled out, count apart, and do not begin each
// other's anew.
func TestOtherLengthsFreeNothing(t *testing.T) {
	_, store := newLab(t, server(t), "hg")
	for _, algorithm := range []config.Algorithm{config.Window, config.Sliding} {
		passed := 0
		for i := range 100 {
			per := []time.Duration{time.Minute, time.Hour}[i%2]
			c := shared.Charge{Zone: string(algorithm), Limit: shared.Limit{Algorithm: algorithm, Count: 10, Per: per}, Key: "k", N: 1}
			if allowed, _ := take(t, store, c); allowed {
				passed++
			}
		}
		if passed != 20 {
			t.Errorf("%s: %d passed, want 10 in each", algorithm, passed)
		}
	}
}

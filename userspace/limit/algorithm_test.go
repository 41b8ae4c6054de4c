package limit_test

import (
	"math"
	"math/bits"
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/limit"
	"pgregory.net/rapid"
)

// given is a charge with what was said of it.
type given struct {
	charged
	limit.Result
}

// equalsModel compares all that limits tell, in any order of charges and
// refunds, with what the model says of those charges that were not refunded.
func equalsModel[S comparable](t *rapid.T, subjects []subject[S]) {
	now := time.Duration(rapid.Int64Range(-1<<50, 1<<50).Draw(t, "start"))
	s := subjects[0].Fresh(now)
	var all []given
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		a := rapid.SampledFrom(subjects).Draw(t, "limit")
		now += a.gap(t)
		n := a.units(t, s, now)
		want := predict(a.model, charges(all), n, now, a.most)
		before := s
		got := a.Take(&s, n, now)
		if got.WithUndo(0, 0) != want {
			t.Fatalf("%+v after %+v: %d at %v:\n%+v, want\n%+v", a.Algorithm, all, n, now, got, want)
		}
		if debt := a.Debt(s, now); debt != want.ResetAfter {
			t.Fatalf("%+v %+v at %v: debt %v, want %v", a.Algorithm, s, now, debt, want.ResetAfter)
		}
		switch {
		case got.Allowed && n > 0:
			all = append(all, given{a.charge(n, now), got})
		case s != before:
			t.Fatalf("%+v: %d at %v made %+v of %+v", a.Algorithm, n, now, s, before)
		case a.Refund(&s, got, now) || s != before:
			t.Fatalf("%+v: %+v was refunded", a.Algorithm, got)
		}
		if len(all) > 0 && rapid.IntRange(0, 3).Draw(t, "refund") == 0 {
			all = refund(t, a, &s, all, now)
		}
	}
}

func charges(all []given) []charged {
	list := make([]charged, len(all))
	for i, g := range all {
		list[i] = g.charged
	}
	return list
}

// refund takes back one of all, and returns the others, if it can be. The last
// can, as long as it matters.
func refund[S comparable](t *rapid.T, a subject[S], s *S, all []given, now time.Duration) []given {
	last := len(all) - 1
	i := rapid.OneOf(rapid.Just(last), rapid.IntRange(0, last)).Draw(t, "which")
	before := *s
	if a.Refund(s, all[i].Result, now) {
		return slices.Delete(slices.Clone(all), i, i+1)
	}
	if *s != before {
		t.Fatalf("%+v: no refund made %+v of %+v", a.Algorithm, *s, before)
	}
	if _, idle := a.room(charges(all), now); i == last && !idle {
		t.Fatalf("%+v: %+v at %v: the last charge was not refunded", a.Algorithm, *s, now)
	}
	return all
}

func TestAlgorithmsEqualTheirModels(t *testing.T) {
	t.Run("leaky", rapid.MakeCheck(func(t *rapid.T) { equalsModel(t, drawLeaky(t)) }))
	t.Run("window", rapid.MakeCheck(func(t *rapid.T) { equalsModel(t, drawWindow(t)) }))
	t.Run("sliding", rapid.MakeCheck(func(t *rapid.T) { equalsModel(t, drawSliding(t)) }))
}

// obeys checks that who waits as told passes, and not a nanosecond earlier, that
// what remains passes and not one more, and that no earlier time admits more.
// The clock may be behind what it was when the state was charged.
func obeys[S comparable](t *rapid.T, subjects []subject[S]) {
	now := time.Duration(rapid.Int64Range(-1<<50, 1<<50).Draw(t, "start"))
	s := subjects[0].Fresh(now)
	for range rapid.IntRange(0, 5).Draw(t, "charges") {
		a := rapid.SampledFrom(subjects).Draw(t, "charger")
		now += a.gap(t)
		a.Take(&s, a.units(t, s, now), now)
	}
	a := rapid.SampledFrom(subjects).Draw(t, "limit")
	now += a.gap(t) - time.Duration(upTo(t, "back", 0, bits.Len64(limit.ClockSlack)-1))
	take := func(n uint64, after time.Duration) limit.Result {
		copied := s
		return a.Take(&copied, n, now+after)
	}

	n := a.units(t, s, now)
	r := take(n, 0)
	switch {
	case r.Allowed != (r.RetryAfter == 0), (r.RetryAfter == limit.Never) != (n > r.Limit):
		t.Fatalf("%+v %+v: %d at %v: %+v", a.Algorithm, s, n, now, r)
	case r.RetryAfter > 0 && (!take(n, r.RetryAfter).Allowed || take(n, r.RetryAfter-1).Allowed):
		t.Fatalf("%+v %+v: %d at %v: %v is not the first time", a.Algorithm, s, n, now, r.RetryAfter)
	}
	peek := take(0, 0)
	left, wait := peek.Remaining, peek.NextAfter
	switch {
	case !take(left, 0).Allowed, take(left+1, 0).Allowed:
		t.Fatalf("%+v %+v: %d remain at %v", a.Algorithm, s, left, now)
	case (wait == 0) != (left == peek.Limit):
		t.Fatalf("%+v %+v: next after %v with %d left", a.Algorithm, s, wait, left)
	case wait > 0 && (take(0, wait).Remaining <= left || take(0, wait-1).Remaining > left):
		t.Fatalf("%+v %+v: more after %v is not the first time", a.Algorithm, s, wait)
	case take(0, a.gap(t)).Remaining < left:
		t.Fatalf("%+v %+v: fewer than %d remain later", a.Algorithm, s, left)
	case take(0, peek.ResetAfter) != a.idle(now+peek.ResetAfter):
		t.Fatalf("%+v %+v: not idle after %v", a.Algorithm, s, peek.ResetAfter)
	}
}

// idle is what a key never seen is told.
func (a subject[S]) idle(now time.Duration) limit.Result {
	s := a.Fresh(now)
	return a.Take(&s, 0, now)
}

func TestWhoObeysPasses(t *testing.T) {
	t.Run("leaky", rapid.MakeCheck(func(t *rapid.T) { obeys(t, drawLeaky(t)) }))
	t.Run("window", rapid.MakeCheck(func(t *rapid.T) { obeys(t, drawWindow(t)) }))
	t.Run("sliding", rapid.MakeCheck(func(t *rapid.T) { obeys(t, drawSliding(t)) }))
}

// survives checks that no input makes a panic or a negative number.
func survives[S comparable](t *rapid.T, a limit.Algorithm[S], s S) {
	now := time.Duration(rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64})).Draw(t, "now"))
	n := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, 1 << 31, 1 << 63, math.MaxUint64})).Draw(t, "n")
	before := s
	r := a.Take(&s, n, now)
	if !r.Allowed && s != before {
		t.Fatalf("%+v %+v: refused %d at %v, and left %+v", a, before, n, now, s)
	}
	if r.Remaining > r.Limit || min(r.Delay, r.NextAfter, r.ResetAfter, a.Debt(s, now)) < 0 || r.RetryAfter < limit.Never {
		t.Fatalf("%+v %+v: %d at %v: %+v", a, before, n, now, r)
	}
	a.Refund(&s, r.WithUndo(rapid.Uint64().Draw(t, "before"), rapid.Uint64().Draw(t, "after")), now)
}

func TestAnyInputIsSurvived(t *testing.T) {
	i64, u64 := rapid.Int64(), rapid.Uint64()
	t.Run("leaky", rapid.MakeCheck(func(t *rapid.T) {
		s := limit.State{TAT: u64.Draw(t, "TAT")}
		survives(t, drawLeaky(t)[0].Algorithm, s)
		survives(t, limit.Algorithm[limit.State](limit.Leaky{}), s)
		now := time.Duration(i64.Draw(t, "then"))
		l := drawLeaky(t)[0].Algorithm.(limit.Leaky)
		l.Convert(s, limit.Leaky{}, now)
		limit.Leaky{}.Convert(s, l, now)
	}))
	t.Run("window", rapid.MakeCheck(func(t *rapid.T) {
		s := limit.WindowState{Start: time.Duration(i64.Draw(t, "start")), Count: u64.Draw(t, "count")}
		w, err := limit.NewWindow(upTo(t, "limit", 1, 63), time.Duration(upTo(t, "per", 1, 63)))
		if err != nil {
			t.Fatal(err)
		}
		survives(t, limit.Algorithm[limit.WindowState](w), s)
		survives(t, limit.Algorithm[limit.WindowState](limit.Window{}), s)
	}))
	t.Run("sliding", rapid.MakeCheck(func(t *rapid.T) {
		s := limit.SlidingState{Tick: time.Duration(i64.Draw(t, "tick")), Curr: u64.Draw(t, "curr"), Prev: u64.Draw(t, "prev")}
		l, err := limit.NewSliding(upTo(t, "limit", 1, 63), time.Duration(upTo(t, "per", 1, 63)))
		if err != nil {
			t.Fatal(err)
		}
		survives(t, limit.Algorithm[limit.SlidingState](l), s)
		survives(t, limit.Algorithm[limit.SlidingState](limit.Sliding{}), s)
	}))
}

func allocates[S any, A limit.Algorithm[S]](t *testing.T, a A) {
	t.Helper()
	s := a.Fresh(0)
	allocs := testing.AllocsPerRun(100, func() {
		r := a.Take(&s, 1, 0)
		a.Take(&s, 10, 0) // refused
		a.Refund(&s, r, 0)
	})
	if allocs != 0 {
		t.Errorf("%T: %v allocations", a, allocs)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	allocates(t, leaky(t, "10r/s", 9, 4))
	allocates(t, window(t, 10, time.Second))
	allocates(t, sliding(t, 10, time.Second))
}

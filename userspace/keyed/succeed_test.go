package keyed_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

// A limiter that was succeeded decides until the new one was first asked about a key with the same lock; then it charges nothing.
func TestSucceeded(t *testing.T) {
	o := keyed.Options[string]{Name: "z", Shards: 1}
	slots := keyed.NewSlots[string](3, o)
	moreSlots := slots.Succeed(5)
	leakies := keyed.New[string](leaky(t, "1r/s", 2), o)
	moreLeaky := leakies.Succeed([]limit.Leaky{leaky(t, "1r/s", 4)}, nil)
	windows := keyed.New[string](must(limit.NewWindow(3, time.Minute)), o)
	moreWindow := windows.Succeed([]limit.Window{must(limit.NewWindow(5, time.Minute))}, nil)
	for name, pair := range map[string][2]keyed.Limiter[string]{
		"slots": {slots, moreSlots}, "leaky": {leakies, moreLeaky}, "window": {windows, moreWindow},
	} {
		was, now := pair[0], pair[1]
		if was.Take("a", 1, start); now.Peek("a", 0, start).Remaining != 4 {
			t.Errorf("%s: Peek %+v", name, now.Peek("a", 0, start))
		}
		if r := was.Take("a", 1, start); !r.Allowed {
			t.Errorf("%s: Peek superseded", name)
		}
		if n := allowed(now, "b", 9, start); n != 5 {
			t.Errorf("%s: %d allowed", name, n)
		}
		before := now.Counters()
		charges := []keyed.Charge[string]{{Limiter: was, Key: "a", N: 1}, {Limiter: now, Key: "c", N: 1}}
		for _, some := range [][]keyed.Charge[string]{charges[:1], charges, {charges[1], charges[0]}} {
			if keyed.All(some, start) || !keyed.Superseded(some) {
				t.Errorf("%s: decided %+v", name, some)
			}
		}
		if now.Counters() != before {
			t.Errorf("%s: counted %+v", name, now.Counters())
		}
		if n := allowed(now, "a", 9, start); n != 3 {
			t.Errorf("%s: %d more allowed", name, n)
		}
		if keyed.All(charges[1:], start) && keyed.Superseded(charges[1:]) {
			t.Errorf("%s: decided and superseded", name)
		}
	}
}

// Where a limit that is only tried out was succeeded, nothing is decided either.
func TestSucceededDryRun(t *testing.T) {
	tried := keyed.New[string](leaky(t, "1r/s", 9), keyed.Options[string]{})
	tried.Succeed([]limit.Leaky{leaky(t, "1r/s", 2)}, nil).Settle(start)
	enforced := keyed.New[string](leaky(t, "1r/s", 9), keyed.Options[string]{})
	charges := []keyed.Charge[string]{{Limiter: enforced, Key: "a", N: 1}, {Limiter: tried, Key: "a", N: 1, DryRun: 1}}
	if keyed.All(charges, start) || !keyed.Superseded(charges) {
		t.Errorf("decided %+v", charges)
	}
	if n := enforced.Peek("a", 0, start).Remaining; n != 10 {
		t.Errorf("%d left, want 10", n)
	}
}

// Of limiters that take the place of each other while they are asked, exactly one burst of each key passes, and each call is
// decided or superseded.
func TestSucceedUnderLoad(t *testing.T) {
	a := leaky(t, "1r/h", 99)
	first := keyed.New[string](a, keyed.Options[string]{})
	var current atomic.Pointer[keyed.Store[string, limit.State, limit.Leaky]]
	current.Store(first)
	var passed atomic.Int64
	var done atomic.Bool
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for !done.Load() {
				if current.Load().Take("a", 1, start).Allowed {
					passed.Add(1)
				}
			}
		})
	}
	for i := range 2000 {
		next := current.Load().Succeed([]limit.Leaky{leaky(t, []string{"1r/h", "100r/s", "7r/m"}[i%3], 99)}, nil)
		current.Store(next)
		next.Settle(start)
	}
	done.Store(true)
	all.Wait()
	if n := passed.Load() + int64(allowed(current.Load(), "a", 200, start)); n != 100 {
		t.Errorf("%d allowed, want 100", n)
	}
}

// What was never settled is carried over through all that came between.
func TestSucceedManyTimesUnsettled(t *testing.T) {
	s := keyed.New[string](leaky(t, "1r/s", 9), keyed.Options[string]{})
	allowed(s, "a", 7, start)
	for i := range 100 {
		s = s.Succeed([]limit.Leaky{leaky(t, []string{"1r/h", "100r/s", "7r/m"}[i%3], 9)}, nil)
	}
	if n := allowed(s, "a", 20, start); n != 3 {
		t.Errorf("%d allowed, want 3", n)
	}
}

// A key that changes its class owes the same number of units, as often as it does so, and drains at the rate of its class.
func TestClasses(t *testing.T) {
	var specs []limit.LeakySpec
	for _, text := range []string{"1r/s", "1r/m", "10r/s"} {
		specs = append(specs, limit.LeakySpec{Rate: must(rate.ParseRequests(text)), Burst: 9, Delay: 9})
	}
	classes := must(limit.CompileLeaky(specs))
	s := keyed.NewClasses[string](classes, keyed.Options[string]{Shards: 1, MaxKeys: 100})
	of := func(c keyed.Class) keyed.Limiter[string] { return s.OfClass(c, classes[c]) }
	allowed(of(1), "a", 4, start)
	for range 10 {
		for c := range keyed.Class(3) {
			if r := of(c).Take("a", 0, start); r.Remaining != 6 {
				t.Fatalf("class %d: %+v", c, r)
			}
		}
	}
	for i, step := range []struct {
		class keyed.Class
		at    time.Duration
		left  uint64
	}{{2, 0, 6}, {2, 100 * time.Millisecond, 7}, {1, time.Second, 10}, {0, time.Second, 10}} {
		if r := of(step.class).Peek("a", 0, start+step.at); r.Remaining != step.left {
			t.Errorf("%d: %d left, want %d", i, r.Remaining, step.left)
		}
	}
	// What becomes of the classes: 1 is 2, 2 is gone, 0 stays.
	allowed(of(1), "b", 4, start)
	allowed(of(2), "c", 4, start)
	next := s.Succeed([]limit.Leaky{classes[0], classes[2], classes[1]}, []keyed.Class{0, 2})
	next.Settle(start)
	for key, debt := range map[string]time.Duration{"b": 4 * time.Minute, "c": 4 * time.Second} {
		if got := next.Owner(key, start); got.Owed != 4000 || got.Debt != debt {
			t.Errorf("%s: %+v, want a debt of %v", key, got, debt)
		}
	}
	// Entries that move to fill a gap keep their class.
	next.Forget("a")
	next.Forget("c")
	if got := next.Owner("b", start); got.Owed != 4000 {
		t.Errorf("b: %+v", got)
	}
}

// A key that was in a class before a change, and whose class is still there, may be in another one after it.
func TestClassChangesWithTheLimits(t *testing.T) {
	var specs []limit.LeakySpec
	for _, text := range []string{"1r/s", "1r/m"} {
		specs = append(specs, limit.LeakySpec{Rate: must(rate.ParseRequests(text)), Burst: 9, Delay: 9})
	}
	classes := must(limit.CompileLeaky(specs))
	s := keyed.NewClasses[string](classes, keyed.Options[string]{Shards: 1})
	allowed(s.OfClass(1, classes[1]), "a", 4, start)
	s = s.Succeed(classes, []keyed.Class{0, 1})
	s.Settle(start)
	if n := allowed(s, "a", 20, start); n != 6 {
		t.Errorf("%d allowed, want 6", n)
	}
	allowed(s.OfClass(1, classes[1]), "b", 4, start)
	s = s.Succeed(classes, nil) // the same limits, and those of class 1 are of class 0 now
	s.Settle(start)
	if o := s.Owner("b", start); o.Owed != 4000 || o.Debt != 4*time.Second {
		t.Errorf("%+v, want 4 units at 1r/s", o)
	}
}

func TestForgetAndTop(t *testing.T) {
	s := keyed.New[string](leaky(t, "1r/s", 9), keyed.Options[string]{})
	for i, key := range []string{"a", "b", "c", "d"} {
		allowed(s, key, i, start)
	}
	want := []keyed.Owner[string]{{Key: "d", Owed: 3000, Debt: 3 * time.Second}, {Key: "c", Owed: 2000, Debt: 2 * time.Second}}
	if diff := cmp.Diff(want, s.Top(2, start)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := s.Top(0, start); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	if !s.Forget("d") || s.Forget("d") || s.Forget("a") {
		t.Error("d is known once, a never was")
	}
	if diff := cmp.Diff(want[1:], s.Top(1, start)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := allowed(s, "d", 20, start); n != 10 {
		t.Errorf("%d allowed, want 10", n)
	}
}

func TestKeyText(t *testing.T) {
	for n := range 23 {
		text := strings.Repeat("\x00x", n/2) + strings.Repeat("y", n%2)
		if got, ok := keyed.KeyOf(text).Text(); !ok || got != text {
			t.Errorf("%q: %q, %t", text, got, ok)
		}
	}
	got, ok := keyed.KeyOf(strings.Repeat("x", 24)).Text()
	if ok || len(got) != 46 {
		t.Errorf("%q, %t", got, ok)
	}
}

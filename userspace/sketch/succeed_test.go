package sketch_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
	notation "github.com/headgate/headgate/userspace/rate"
	"github.com/headgate/headgate/userspace/sketch"
)

// classes are limits of 10r/s and 1r/m, and as many as it takes of 1r/h, that share states.
func classes(t testing.TB, n int) []limit.Leaky {
	t.Helper()
	var specs []limit.LeakySpec
	for i := range n {
		r, err := notation.ParseRequests([]string{"10r/s", "1r/m", "1r/h"}[min(i, 2)])
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, limit.LeakySpec{Rate: r, Burst: 9, Delay: 9})
	}
	all, err := limit.CompileLeaky(specs)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A limiter is looked at also where another has taken its place, or where it has taken nobody's yet. It need
// not know the classes that keys have there.
func TestLookInAnotherEra(t *testing.T) {
	two := classes(t, 2)
	one := two[:1]
	o := options[string](100, 1)
	fewer := sketch.NewClasses(one, o)
	more := fewer.Succeed(two, nil)
	more.OfClass(1, two[1]).Take("a", 1, start)
	again := more.Succeed(one, nil)
	for name, l := range map[string]*sketch.Limiter[string]{"superseded": fewer, "not in force yet": again} {
		if r := l.Peek("a", 1, start); r.Limit != 10 {
			t.Errorf("%s: %+v", name, r)
		}
		if o := l.Owner("a", start); o.Key != "a" {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if n := more.OfClass(1, two[1]).Peek("a", 0, start).Remaining; n != 9 {
		t.Errorf("%d left, want 9", n)
	}
}

// What was superseded takes nothing back: the key belongs to others now.
func TestSupersededRefundsNothing(t *testing.T) {
	two := classes(t, 2)
	was := sketch.NewClasses(two[:1], options[string](100, 1))
	r := was.Take("a", 7, start) // heavy: it has an exact bucket
	now := was.Succeed(two, []keyed.Class{1})
	now.Settle(start)
	if was.Refund("a", r, start) {
		t.Error("refunded")
	}
	if o := now.Owner("a", start); o.Owed != 7000 || o.Debt != 7*time.Minute {
		t.Errorf("%+v, want 7 units at 1r/m", o)
	}
}

// What a key owes is told by the limit of its class, in either tier.
func TestOwnerOfAClass(t *testing.T) {
	two := classes(t, 2)
	l := sketch.NewClasses(two, options[string](100, 1))
	slow := l.OfClass(1, two[1])
	for key, n := range map[string]uint64{"light": 2, "heavy": 8} {
		slow.Take(key, n, start)
		want := keyed.Owner[string]{Key: key, Owed: n * 1000, Debt: time.Duration(n) * time.Minute}
		if o := l.Owner(key, start); o != want {
			t.Errorf("%+v, want %+v", o, want)
		}
	}
}

// A cell has no room for the number of a large class: such keys have exact buckets however little they owe.
func TestLargeClassesHaveExactBuckets(t *testing.T) {
	const largest = sketch.MostLight
	many := classes(t, largest+2)
	l := sketch.NewClasses(many, options[string](100, 1))
	for c, keys := range map[keyed.Class]uint64{largest: 0, largest + 1: 1} {
		l.OfClass(c, many[c]).Take("a", 1, start)
		if o := l.Owner("a", start); o.Owed != 1000 || o.Debt != time.Hour || l.Counters().Keys != keys {
			t.Errorf("class %d: %+v, %d exact buckets", c, o, l.Counters().Keys)
		}
		l.Forget("a")
	}
}

// What is in a cell, or has to go back to one, is lost when its class is too large, and that is counted.
func TestLargeClassesAreLostCounted(t *testing.T) {
	const large = sketch.MostLight + 1
	many := classes(t, large+1)
	l := sketch.NewClasses(many[:1], options[string](100, 1))
	l.Take("light", 1, start)
	l.Take("heavy", 7, start)
	next := l.Succeed(many, []keyed.Class{large})
	next.Settle(start)
	if n := next.Counters().EvictedLive; n != 1 || next.Owner("light", start).Owed != 0 || next.Owner("heavy", start).Owed != 7000 {
		t.Errorf("%d lost; %+v, %+v", n, next.Owner("light", start), next.Owner("heavy", start))
	}
	full := sketch.NewClasses(many, options[string](1, 1))
	of := full.OfClass(large, many[large])
	of.Take("a", 1, start)
	of.Take("b", 2, start)
	if n := full.Counters().EvictedLive; n != 1 || full.Owner("a", start).Owed != 0 || full.Owner("b", start).Owed != 2000 {
		t.Errorf("%d lost; %+v, %+v", n, full.Owner("a", start), full.Owner("b", start))
	}
}

package limit_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/limit"
	"pgregory.net/rapid"
)

func sliding(t testing.TB, count uint64, per time.Duration) limit.Sliding {
	t.Helper()
	l, err := limit.NewSliding(count, per)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Read as HAProxy reads its counters: current + previous*left/period.
func TestSlidingTellsTheState(t *testing.T) {
	l := sliding(t, 10, time.Second)
	s := l.Fresh(0)
	steps := []struct {
		name string
		n    uint64
		now  time.Duration
		want limit.Result
	}{
		{"peek at idle", 0, 0, limit.Result{Allowed: true, Limit: 10, Remaining: 10}},
		{"too many ever", 11, 0, limit.Result{Limit: 10, Remaining: 10, RetryAfter: limit.Never}},
		{"eight", 8, 500 * ms, limit.Result{Allowed: true, Limit: 10, Remaining: 2, NextAfter: 1000*ms + 1, ResetAfter: 2000 * ms}},
		{"three too early", 3, 1000 * ms, limit.Result{Limit: 10, Remaining: 2, NextAfter: 500*ms + 1, ResetAfter: 1500 * ms, RetryAfter: 500*ms + 1}},
		{"on the grid", 0, 1500 * ms, limit.Result{Allowed: true, Limit: 10, Remaining: 2, NextAfter: 1, ResetAfter: 1000 * ms}},
		{"half faded", 5, 2000 * ms, limit.Result{Allowed: true, Limit: 10, Remaining: 1, NextAfter: 1, ResetAfter: 1500 * ms}},
		{"too early", 5, 2000 * ms, limit.Result{Limit: 10, Remaining: 1, NextAfter: 1, ResetAfter: 1500 * ms, RetryAfter: 375*ms + 1}},
		{"faded", 5, 2375*ms + 1, limit.Result{Allowed: true, Limit: 10, NextAfter: 125 * ms, ResetAfter: 1125*ms - 1}},
		{"not before the next period", 5, 2400 * ms, limit.Result{Limit: 10, NextAfter: 100*ms + 1, ResetAfter: 1100 * ms, RetryAfter: 500*ms + 1}},
		{"two periods later", 0, 3500 * ms, limit.Result{Allowed: true, Limit: 10, Remaining: 10}},
		{"the grid begins anew", 10, 3700 * ms, limit.Result{Allowed: true, Limit: 10, NextAfter: 1000*ms + 1, ResetAfter: 2000 * ms}},
	}
	for _, st := range steps {
		same(t, st.name, l.Take(&s, st.n, st.now), st.want)
	}
}

func TestSlidingRefund(t *testing.T) {
	l := sliding(t, 10, time.Second)
	state := func(tick time.Duration, curr, prev uint64) limit.SlidingState {
		return limit.SlidingState{Tick: tick, Curr: curr, Prev: prev}
	}
	take := func(s limit.SlidingState, n uint64, now time.Duration) (limit.SlidingState, limit.Result) {
		r := l.Take(&s, n, now)
		return s, r
	}
	one, first := take(limit.SlidingState{}, 2, 0)
	two, second := take(one, 3, 500*ms)
	three, third := take(two, 1, 1700*ms)
	_, fourth := take(three, 1, 2100*ms)
	tests := []struct {
		name string
		s    limit.SlidingState
		r    limit.Result
		now  time.Duration
		want bool
		then limit.SlidingState
	}{
		{"the first, alone", one, first, 0, true, limit.SlidingState{}},
		{"the first, alone, later", one, first, 1999 * ms, true, limit.SlidingState{}},
		{"the first, too late", one, first, 2000 * ms, false, one},
		{"the first, one followed", two, first, 600 * ms, false, two},
		{"the first, one followed, later", two, first, 1600 * ms, false, two},
		{"the first, others followed", three, first, 1700 * ms, false, three},
		{"the second", two, second, 600 * ms, true, one},
		{"the second, in the next period", two, second, 1100 * ms, true, state(1000*ms, 0, 2)},
		{"the second, one followed", three, second, 1800 * ms, true, state(1000*ms, 1, 2)},
		{"the third", three, third, 1800 * ms, true, state(1000*ms, 0, 5)},
		{"the third, when the others are gone", three, third, 2200 * ms, true, limit.SlidingState{}},
		{"a bridge", state(2000*ms, 1, 1), third, 2200 * ms, false, state(2000*ms, 1, 1)},
		{"no bridge", state(2000*ms, 1, 2), third, 2200 * ms, true, state(2000*ms, 1, 1)},
		{"of a later period", three, fourth, 1800 * ms, false, three},
		{"nothing", three, limit.Result{}, 1800 * ms, false, three},
		{"more than there is", state(0, 1, 0), second, 600 * ms, false, state(0, 1, 0)},
	}
	for _, tt := range tests {
		s := tt.s
		if got := l.Refund(&s, tt.r, tt.now); got != tt.want || s != tt.then {
			t.Errorf("%s: %v, %+v; want %v, %+v", tt.name, got, s, tt.want, tt.then)
		}
	}
}

// A refund can leave nothing in the current period. When what was before has
// faded, the key is as one never seen.
func TestSlidingGridBeginsAnew(t *testing.T) {
	l := sliding(t, 10, time.Second)
	for now, want := range map[time.Duration]limit.SlidingState{
		1000*ms - 1: {Curr: 1, Prev: 5},
		1000 * ms:   {Tick: 1000 * ms, Curr: 1},
		1500 * ms:   {Tick: 1500 * ms, Curr: 1},
	} {
		s := limit.SlidingState{Prev: 5}
		if l.Take(&s, 1, now); s != want {
			t.Errorf("at %v: %+v, want %+v", now, s, want)
		}
	}
}

// The estimate is off by no more than the package says, and no time of one
// period holds more than twice the count.
func TestSlidingErrorIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		per := time.Duration(upTo(t, "per", 1, 20))
		l, err := limit.NewSliding(upTo(t, "count", 1, 10), per)
		if err != nil {
			t.Fatal(err)
		}
		s, now := l.Fresh(0), time.Duration(0)
		var all []charged
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			now += time.Duration(rapid.Int64Range(0, 1+int64(per)/4).Draw(t, "gap"))
			n := rapid.Uint64Range(1, 1+l.Take(&s, 0, now).Remaining).Draw(t, "n")
			r := l.Take(&s, n, now)
			if !r.Allowed {
				continue
			}
			all = append(all, charged{at: now, n: n})
			last := within(all, now-per)
			if last > 2*r.Limit {
				t.Fatalf("%+v: %d within the last period at %v", l, last, now)
			}
			left, prev := big.NewInt(int64(s.Tick+per-now)), unsigned(s.Prev)
			high := new(big.Int).Mul(prev, left)
			high.Div(high, big.NewInt(int64(per)))
			low := new(big.Int).Sub(high, prev)
			if off := int64(r.Limit-r.Remaining) - int64(last); off > high.Int64() || off < low.Int64() {
				t.Fatalf("%+v %+v at %v: the estimate is off by %d, beyond %d to %d", l, s, now, off, low, high)
			}
		}
	})
}

// within counts what was charged after the time from.
func within(all []charged, from time.Duration) (n uint64) {
	for _, c := range all {
		if c.at > from {
			n += c.n
		}
	}
	return n
}

// The worst case: all of one period at its end, and all of the next at its end.
func TestSlidingErrorIsReached(t *testing.T) {
	const per = 1000
	l := sliding(t, 100, per)
	var all []charged
	take := func(s *limit.SlidingState, n uint64, now time.Duration) {
		if r := l.Take(s, n, now); !r.Allowed {
			t.Errorf("%d at %d: %+v", n, now, r)
		}
		all = append(all, charged{at: now, n: n})
	}
	s := l.Fresh(0)
	take(&s, 1, 0)
	take(&s, 99, per-1)    // too low: these count as spread over the period
	take(&s, 99, 2*per-11) // 100*11/1000 of them are left, which is 1
	if n := within(all, 2*per-11-per); n != 198 {
		t.Errorf("%d within one period, want 198", n)
	}

	s = l.Fresh(0)
	take(&s, 100, 0) // too high: these count as spread over the period
	if r := l.Take(&s, 1, per); r.Allowed || r.RetryAfter != 1 {
		t.Errorf("the next period: %+v", r)
	}
	if r := l.Take(&s, 50, per+1); r.Allowed || r.RetryAfter != 490 {
		t.Errorf("half of the next: %+v", r)
	}
}

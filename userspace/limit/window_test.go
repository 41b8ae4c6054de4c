package limit_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

func window(t testing.TB, count uint64, per time.Duration) limit.Window {
	t.Helper()
	w, err := limit.NewWindow(count, per)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWindowTellsTheState(t *testing.T) {
	w := window(t, 5, time.Minute)
	s := w.Fresh(0)
	steps := []struct {
		name string
		n    uint64
		now  time.Duration
		want limit.Result
	}{
		{"peek at idle", 0, 0, limit.Result{Allowed: true, Limit: 5, Remaining: 5}},
		{"too many ever", 6, 0, limit.Result{Limit: 5, Remaining: 5, RetryAfter: limit.Never}},
		{"first", 1, 7 * time.Second, limit.Result{Allowed: true, Limit: 5, Remaining: 4, NextAfter: time.Minute, ResetAfter: time.Minute}},
		{"three", 3, 27 * time.Second, limit.Result{Allowed: true, Limit: 5, Remaining: 1, NextAfter: 40 * time.Second, ResetAfter: 40 * time.Second}},
		{"one too many", 2, 37 * time.Second, limit.Result{Limit: 5, Remaining: 1, NextAfter: 30 * time.Second, ResetAfter: 30 * time.Second, RetryAfter: 30 * time.Second}},
		{"last", 1, 37 * time.Second, limit.Result{Allowed: true, Limit: 5, NextAfter: 30 * time.Second, ResetAfter: 30 * time.Second}},
		{"a tick too early", 1, 67*time.Second - 1, limit.Result{Limit: 5, NextAfter: 1, ResetAfter: 1, RetryAfter: 1}},
		{"at the end", 5, 67 * time.Second, limit.Result{Allowed: true, Limit: 5, NextAfter: time.Minute, ResetAfter: time.Minute}},
		{"idle again", 0, time.Hour, limit.Result{Allowed: true, Limit: 5, Remaining: 5}},
	}
	for _, st := range steps {
		same(t, st.name, w.Take(&s, st.n, st.now), st.want)
	}
}

func TestWindowRefund(t *testing.T) {
	w := window(t, 5, time.Minute)
	const start = -5 * time.Second
	state := func(count uint64) limit.WindowState { return limit.WindowState{Start: start, Count: count} }
	elsewhere := func(n uint64, now time.Duration) limit.Result { return w.Take(new(limit.WindowState), n, now) }
	s := w.Fresh(0)
	first := w.Take(&s, 2, start)
	second := w.Take(&s, 1, start+10*time.Second)
	third := w.Take(&s, 1, start+20*time.Second)
	steps := []struct {
		name string
		r    limit.Result
		now  time.Duration
		want bool
		then limit.WindowState
	}{
		{"the first, others followed", first, start, false, state(4)},
		{"one in the middle", second, start + 20*time.Second, true, state(3)},
		{"after the window", third, start + time.Minute, false, state(3)},
		{"the last", third, start + time.Minute - 1, true, state(2)},
		{"more than is left", elsewhere(3, start), start, false, state(2)},
		{"of another window", elsewhere(2, start+1), start + 1, false, state(2)},
		{"the first, now alone", first, start, true, limit.WindowState{}},
		{"the first again", first, start, false, limit.WindowState{}},
		{"nothing", limit.Result{}, 0, false, limit.WindowState{}},
	}
	for _, st := range steps {
		if got := w.Refund(&s, st.r, st.now); got != st.want || s != st.then {
			t.Errorf("%s: %v, %+v; want %v, %+v", st.name, got, s, st.want, st.then)
		}
	}
}

func TestWindowsAtTheEdges(t *testing.T) {
	const most = math.MaxInt64
	w, l := window(t, most, most), sliding(t, most, most)
	for _, now := range []time.Duration{math.MinInt64, -1, 0, 1, most - 1} {
		s, v := w.Fresh(now), l.Fresh(now)
		if a, b := w.Take(&s, most, now), l.Take(&v, most, now); !a.Allowed || !b.Allowed || a.Remaining != 0 || b.Remaining != 0 {
			t.Errorf("2^63-1 at %d: window %+v, sliding %+v", now, a, b)
		}
		for _, n := range []uint64{1, 1 << 31, most, 1 << 63, math.MaxUint64} {
			a, b := w.Take(&s, n, now), l.Take(&v, n, now)
			if never := n > most; a.Allowed || b.Allowed || (a.RetryAfter == limit.Never) != never || (b.RetryAfter == limit.Never) != never {
				t.Errorf("%d more at %d: window %+v, sliding %+v", n, now, a, b)
			}
		}
	}
	same(t, "no window", limit.Window{}.Take(new(limit.WindowState), 1, 0), limit.Result{RetryAfter: limit.Never})
	same(t, "no sliding", limit.Sliding{}.Take(new(limit.SlidingState), 1, 0), limit.Result{RetryAfter: limit.Never})
	same(t, "no leaky", limit.Leaky{}.Take(new(limit.State), 1, 0), limit.Result{RetryAfter: limit.Never})
	same(t, "peek at none", limit.Leaky{}.Take(new(limit.State), 0, 1), limit.Result{Allowed: true})
}

func TestQuotaErrors(t *testing.T) {
	tests := []struct {
		count uint64
		per   time.Duration
		want  string
	}{
		{0, time.Minute, "limit of 0 per 1m0s: a rate of 0 would let nothing pass"},
		{1 << 63, time.Minute, "limit of 9223372036854775808 per 1m0s: too many; use at most 9223372036854775807"},
		{5, 0, "limit of 5 per 0s: the time must be longer than 0"},
		{5, -time.Second, "limit of 5 per -1s: the time must be longer than 0"},
	}
	for _, tt := range tests {
		_, err := limit.NewWindow(tt.count, tt.per)
		if err == nil || err.Error() != tt.want {
			t.Errorf("window: %v\nwant error %s", err, tt.want)
		}
		if zero := tt.count == 0; errors.Is(err, rate.ErrZero) != zero {
			t.Errorf("errors.Is(%v, ErrZero) = %v", err, !zero)
		}
		if _, err := limit.NewSliding(tt.count, tt.per); err == nil || err.Error() != tt.want {
			t.Errorf("sliding: %v\nwant error %s", err, tt.want)
		}
	}
}

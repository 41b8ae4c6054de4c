package limit_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// eager takes one unit as soon as it may, again and again, and returns how long
// it took until count had passed.
func eager[S any](t *testing.T, a limit.Algorithm[S], count int, from time.Duration) time.Duration {
	t.Helper()
	s, now := a.Fresh(from), from
	for range count {
		r := a.Take(&s, 1, now)
		if r.Allowed {
			continue
		}
		now += r.RetryAfter
		if r := a.Take(&s, 1, now); !r.Allowed {
			t.Fatalf("waited as told until %v: %+v", now, r)
		}
	}
	return now - from
}

// With milliseconds, 3000r/s without a burst lets 1000 pass.
func TestCase31RatesAboveAThousandHold(t *testing.T) {
	l := leaky(t, "3000r/s", 0, 0)
	if got := eager(t, l, 3000, 0); got < time.Second-time.Second/3000 || got > time.Second {
		t.Errorf("3000 took %v", got)
	}
	burst := leaky(t, "3000r/s", 2, 2)
	s := burst.Fresh(0)
	for now := time.Duration(0); now < time.Second; now += ms + 2 { // a third of a ms, rounded up
		if n := passing(burst, &s, now); n != 3 {
			t.Errorf("%d passed at %v, want 3", n, now)
		}
	}
}

// From 1r/h to 100 M r/s the rate is never above the one asked for and, with a
// burst that keeps what is less than a nanosecond, less than 0.1 % below.
func TestLeakyRatesAreWithin1PerMille(t *testing.T) {
	for _, text := range []string{
		"1r/h", "7r/h", "1r/m", "7r/m", "1r/s", "3r/s", "10r/s", "999r/s", "1000r/s", "3000r/s",
		"244200r/s", "244300r/s", "1000000r/s", "7777777r/s", "10000000r/s", "99999989r/s", "100000000r/s",
	} {
		const count = 10_000
		r := requests(t, text)
		for _, from := range []time.Duration{-time.Hour, 0, 400 * 24 * time.Hour} {
			got := float64(eager(t, leaky(t, text, 1, 1), count+2, from))
			want := count * float64(r.Per) / float64(r.Count)
			if got < want-1e-6*want || got > want*1.001 {
				t.Errorf("%s from %v: %d after the burst took %.0f ns, want %.0f", text, from, count, got, want)
			}
		}
	}
}

// x/time/rate makes tokens of a time before the last one.
func TestCase38ClockThatGoesBackAdmitsNothing(t *testing.T) {
	l := leaky(t, "10r/s", 5, 5)
	s := l.Fresh(0)
	passing(l, &s, time.Hour)
	for _, back := range []time.Duration{1, ms, time.Second, 10 * time.Second, limit.ClockSlack} {
		if r := l.Take(&s, 1, time.Hour-back); r.Allowed || r.RetryAfter != back+100*ms {
			t.Errorf("%v earlier: %+v", back, r)
		}
	}
	if n := passing(l, &s, time.Hour+100*ms); n != 1 {
		t.Errorf("then %d passed 100 ms later, want 1", n)
	}
}

// More than 100 k/s is as exact as less.
func TestCase38FastRatesAreExact(t *testing.T) {
	if got := eager(t, leaky(t, "250000r/s", 0, 0), 250_001, 0); got != time.Second {
		t.Errorf("250000 after the first took %v", got)
	}
}

// x/time/rate gives back the wrong number of tokens, if others were taken since.
func TestCase39RefundIsExactOrAbsent(t *testing.T) {
	l := leaky(t, "10r/s", 9, 9)
	s := l.Fresh(0)
	first := l.Take(&s, 5, 0)
	second := l.Take(&s, 5, 0)
	if l.Refund(&s, first, 0) || l.Take(&s, 0, 0).Remaining != 0 {
		t.Error("the first was refunded after the second")
	}
	if !l.Refund(&s, second, 0) || l.Take(&s, 0, 0).Remaining != 5 {
		t.Error("the second was not refunded")
	}
	if !l.Refund(&s, first, time.Minute) || s != l.Fresh(0) {
		t.Errorf("the first was not refunded after that: %+v", s)
	}
}

// go-limiter subtracts unsigned times, so that an early one ends a window.
func TestCase41EarlierNowEndsNothing(t *testing.T) {
	w, l := window(t, 2, time.Minute), sliding(t, 2, time.Minute)
	for _, now := range []time.Duration{time.Hour - 1, 0, -time.Hour} {
		s, v := w.Fresh(0), l.Fresh(0)
		w.Take(&s, 2, time.Hour)
		l.Take(&v, 2, time.Hour)
		want := time.Hour - now + time.Minute
		if r := w.Take(&s, 1, now); r.Allowed || r.RetryAfter != want {
			t.Errorf("window at %v: %+v", now, r)
		}
		if r := l.Take(&v, 1, now); r.Allowed || r.RetryAfter <= want {
			t.Errorf("sliding at %v: %+v", now, r)
		}
	}
}

// gubernator's leaky bucket was full again after each duration: twice the limit.
func TestCase43RateHoldsInTheLongRun(t *testing.T) {
	l := leaky(t, "60r/m", 59, 59)
	s, passed := l.Fresh(0), uint64(0)
	for i := range 3600 * 4 { // four tries a second for an hour
		if l.Take(&s, 1, time.Duration(i)*250*ms).Allowed {
			passed++
		}
	}
	if passed != 60+3599 {
		t.Errorf("%d passed in an hour, want the burst and one a second", passed)
	}
}

// uber's slack let more than the burst pass after a pause.
func TestCase46IdleKeyGetsTheBurstAndNoMore(t *testing.T) {
	l := leaky(t, "10r/s", 5, 5)
	s := l.Fresh(0)
	for _, now := range []time.Duration{0, time.Second, time.Hour, 365 * 24 * time.Hour} {
		if n := passing(l, &s, now); n != 6 {
			t.Errorf("%d passed at %v, want 6", n, now)
		}
	}
}

// boundary's clients came back a moment too early, because of truncation.
func TestCase57RetryAfterIsRoundedUp(t *testing.T) {
	l := leaky(t, "3r/s", 0, 0)
	s := l.Fresh(0)
	l.Take(&s, 1, 0)
	if r := l.Take(&s, 1, 333_333_333); r.Allowed || r.RetryAfter != 1 {
		t.Errorf("at a third of a second, truncated: %+v", r)
	}
	v := sliding(t, 3, 10)
	found := limit.SlidingState{Prev: 3} // 3 units fade within 10 ns
	if r := v.Take(&found, 1, 0); r.RetryAfter != 1 {
		t.Errorf("sliding: %+v", r)
	}
}

// express-limiter said that 1 remains and refused the next.
func TestCase58RemainingIsWhatPasses(t *testing.T) {
	l := leaky(t, "7r/m", 9, 3)
	s := l.Fresh(0)
	for _, now := range []time.Duration{0, time.Second, 30 * time.Second, 9 * time.Minute} {
		want := l.Take(&s, 0, now).Remaining
		if got := passing(l, &s, now); got != want {
			t.Errorf("%d passed at %v, %d remained", got, now, want)
		}
		same(t, "none left", l.Take(&s, 0, now), limit.Result{
			Allowed: true, Limit: 10, NextAfter: l.Take(&s, 1, now).RetryAfter,
			ResetAfter: l.Debt(s, now), Excess: l.Take(&s, 1, now).Excess - 1000,
		})
	}
}

// What people believe of these limiters, and what is.
func TestLeakyMistakes(t *testing.T) {
	t.Run("capacity is burst + 1, not rate + burst", func(t *testing.T) {
		l := leaky(t, "10r/s", 5, 5)
		s := l.Fresh(0)
		if n := passing(l, &s, 0); n != 6 {
			t.Errorf("%d", n)
		}
	})
	t.Run("a counter that is compared too late admits one more", func(t *testing.T) {
		for _, n := range []uint64{1, 2, 100} {
			w, l := window(t, n, time.Minute), sliding(t, n, time.Minute)
			s, v := w.Fresh(0), l.Fresh(0)
			if a, b := passing(w, &s, 0), passing(l, &v, 0); a != n || b != n {
				t.Errorf("%d: window %d, sliding %d", n, a, b)
			}
		}
	})
	t.Run("queued requests leave one per 1/rate, not in the next second", func(t *testing.T) {
		l := leaky(t, "10r/s", 5, 0)
		s := l.Fresh(0)
		for i := range 6 {
			if r := l.Take(&s, 1, 0); r.Delay != time.Duration(i)*100*ms {
				t.Errorf("request %d: %+v", i, r)
			}
		}
	})
	t.Run("burst = rate admits twice the rate in the first second", func(t *testing.T) {
		l := leaky(t, "10r/s", 10, 10)
		s := l.Fresh(0)
		passed := passing(l, &s, 0)
		for now := time.Duration(0); now < time.Second; now += ms {
			passed += passing(l, &s, now)
		}
		if passed != 20 { // 11 at once, and 9 more before the second is over
			t.Errorf("%d", passed)
		}
	})
}

package limit_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// What nginx's limit_req does, where its milliseconds make no difference.
func TestLeakyEqualsNginx(t *testing.T) {
	type request struct {
		at      time.Duration
		allowed bool
		excess  uint64
	}
	ok := func(at time.Duration, excess uint64) request { return request{at * ms, true, excess} }
	busy := func(at time.Duration, excess uint64) request { return request{at * ms, false, excess} }
	tests := []struct {
		rate     string
		burst    uint64
		requests []request
	}{
		{"2r/s", 1, []request{ok(0, 0), ok(0, 1000), busy(0, 2000), busy(499, 1002), ok(500, 1000), busy(501, 1998), ok(1000, 1000)}},
		{"10r/s", 5, []request{
			ok(0, 0), ok(0, 1000), ok(0, 2000), ok(0, 3000), ok(0, 4000), ok(0, 5000), busy(0, 6000),
			ok(100, 5000), busy(100, 6000), ok(200, 5000), ok(350, 4500),
		}},
		{"1r/s", 0, []request{ok(0, 0), busy(999, 1), ok(1000, 0), busy(1999, 1), ok(2000, 0)}},
		{"1000r/s", 2, []request{ok(0, 0), ok(0, 1000), ok(0, 2000), busy(0, 3000), ok(3, 0), ok(3, 1000), ok(3, 2000), busy(3, 3000)}},
	}
	for _, tt := range tests {
		l := leaky(t, tt.rate, tt.burst, tt.burst)
		s := l.Fresh(0)
		for i, q := range tt.requests {
			r := l.Take(&s, 1, q.at)
			if r.Allowed != q.allowed || r.Excess != q.excess || r.Delay != 0 {
				t.Errorf("%s burst %d, request %d: %+v, want %+v", tt.rate, tt.burst, i, r, q)
			}
		}
	}
}

// 1r/m is one per 60 s here, and not per 62.5 as in nginx, which makes it 0.016r/s.
func TestLeakyDoesNotTruncateRates(t *testing.T) {
	tests := []struct {
		rate string
		wait time.Duration
	}{
		{"1r/m", time.Minute},
		{"7r/m", 8_571_428_572},
		{"30r/m", 2 * time.Second},
		{"59r/m", 1_016_949_153},
		{"1r/h", time.Hour},
		{"3r/s", 333_333_334},
		{"10000000r/s", 100},
	}
	for _, tt := range tests {
		l := leaky(t, tt.rate, 0, 0)
		s := l.Fresh(0)
		l.Take(&s, 1, 0)
		if r := l.Take(&s, 1, tt.wait-1); r.Allowed || r.RetryAfter != 1 {
			t.Errorf("%s, 1 ns too early: %+v", tt.rate, r)
		}
		if r := l.Take(&s, 1, tt.wait); !r.Allowed || r.Excess != 0 {
			t.Errorf("%s after %v: %+v", tt.rate, tt.wait, r)
		}
	}
}

// A queue as of nginx: at 1r/s the requests leave one a second.
func TestCase69RequestsBeyondTheDelayWait(t *testing.T) {
	tests := []struct {
		rate         string
		burst, delay uint64
		want         []time.Duration // of requests at one instant
	}{
		{"1r/s", 5, 0, []time.Duration{0, 1000 * ms, 2000 * ms, 3000 * ms, 4000 * ms, 5000 * ms}},
		{"1r/s", 5, 2, []time.Duration{0, 0, 0, 1000 * ms, 2000 * ms, 3000 * ms}},
		{"1r/s", 5, 4, []time.Duration{0, 0, 0, 0, 0, 1000 * ms}},
		{"1r/s", 5, 5, []time.Duration{0, 0, 0, 0, 0, 0}},
		{"10r/s", 3, 0, []time.Duration{0, 100 * ms, 200 * ms, 300 * ms}},
		{"30r/m", 2, 1, []time.Duration{0, 0, 2000 * ms}},
		{"3r/s", 2, 0, []time.Duration{0, 333_333_334, 666_666_668}},
		{"1r/s", 0, 0, []time.Duration{0}},
	}
	for _, tt := range tests {
		l := leaky(t, tt.rate, tt.burst, tt.delay)
		s := l.Fresh(0)
		for i, want := range tt.want {
			if r := l.Take(&s, 1, 0); !r.Allowed || r.Delay != want {
				t.Errorf("%s burst %d delay %d, request %d: %+v, want delay %v", tt.rate, tt.burst, tt.delay, i, r, want)
			}
		}
		if r := l.Take(&s, 1, 0); r.Allowed || r.Delay != 0 {
			t.Errorf("%s burst %d: one too many: %+v", tt.rate, tt.burst, r)
		}
	}
}

// Not even a nanosecond faster than the rate.
func TestLeakyDelayIsExact(t *testing.T) {
	l := leaky(t, "10r/s", 5, 2)
	for back, want := range map[time.Duration]time.Duration{0: 0, 1: 1, 100 * ms: 100 * ms} {
		s := l.Fresh(0)
		l.Take(&s, 3, 0)
		if r := l.Take(&s, 1, 100*ms-back); r.Delay != want {
			t.Errorf("%v early: %+v, want delay %v", back, r, want)
		}
	}
}

// The table of throttled's and redis-cell's tests: at most 5 at once, 1 a
// second. Unlike there, a charge of 0 and one that passes have RetryAfter 0.
func TestLeakyEqualsThrottled(t *testing.T) {
	l := leaky(t, "1r/s", 4, 4)
	s := l.Fresh(0)
	tests := []struct {
		at        time.Duration
		n         uint64
		remaining uint64
		reset     time.Duration
		retry     time.Duration
	}{
		{0, 6, 5, 0, limit.Never},
		{0, 1, 4, 1000 * ms, 0},
		{0, 1, 3, 2000 * ms, 0},
		{0, 1, 2, 3000 * ms, 0},
		{0, 1, 1, 4000 * ms, 0},
		{0, 1, 0, 5000 * ms, 0},
		{0, 1, 0, 5000 * ms, 1000 * ms},
		{3000 * ms, 1, 2, 3000 * ms, 0},
		{3100 * ms, 1, 1, 3900 * ms, 0},
		{4000 * ms, 1, 1, 4000 * ms, 0},
		{8000 * ms, 1, 4, 1000 * ms, 0},
		{9500 * ms, 1, 4, 1000 * ms, 0},
		{9500 * ms, 0, 4, 1000 * ms, 0},
		{9500 * ms, 2, 2, 3000 * ms, 0},
		{9500 * ms, 5, 2, 3000 * ms, 3000 * ms},
		{15000 * ms, 6, 5, 0, limit.Never},
	}
	for i, tt := range tests {
		r := l.Take(&s, tt.n, tt.at)
		if r.Allowed != (tt.retry == 0) || r.Limit != 5 || r.Remaining != tt.remaining || r.ResetAfter != tt.reset || r.RetryAfter != tt.retry {
			t.Errorf("row %d: %+v, want %+v", i, r, tt)
		}
	}
}

// The rows of redis_rate's tests, whose PerSecond(10) admits 10 at once. It
// tells a caller who asks for 1000 to come back in 99 s; here that is never.
func TestLeakyEqualsRedisRate(t *testing.T) {
	l := leaky(t, "10r/s", 9, 9)
	s := l.Fresh(0)
	tests := []struct {
		n, remaining uint64
		reset, retry time.Duration
	}{
		{1, 9, 100 * ms, 0},
		{2, 7, 300 * ms, 0},
		{7, 0, 1000 * ms, 0},
		{1000, 0, 1000 * ms, limit.Never},
		{1, 0, 1000 * ms, 100 * ms},
	}
	for i, tt := range tests {
		r := l.Take(&s, tt.n, 0)
		if r.Allowed != (tt.retry == 0) || r.Remaining != tt.remaining || r.ResetAfter != tt.reset || r.RetryAfter != tt.retry {
			t.Errorf("row %d: %+v, want %+v", i, r, tt)
		}
	}
	// AllowAtMost(10) with 7 left.
	s = l.Fresh(0)
	l.Take(&s, 3, 0)
	left := l.Take(&s, 0, 0).Remaining
	if r := l.Take(&s, left, 0); left != 7 || !r.Allowed || r.Remaining != 0 {
		t.Errorf("at most 10 are %d: %+v", left, r)
	}
}

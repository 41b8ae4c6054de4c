package limit_test

import (
	"math"
	"testing"

	"github.com/headgate/headgate/userspace/limit"
	"pgregory.net/rapid"
)

func TestRemainingAndRetryAfter(t *testing.T) {
	p := packets(t, "10pps", 5)                         // 100 ms each
	fine := limit.Params{Cost: 16, Burst: 32, Shift: 4} // 1 ns each
	const ms = second / 1000
	tests := []struct {
		name      string
		p         limit.Params
		s         limit.State
		n         uint64
		remaining uint64
		wait      uint64
		ok        bool
	}{
		{"idle", p, p.Fresh(start), 1, 5, 0, true},
		{"idle, whole burst", p, p.Fresh(start), 5, 5, 0, true},
		{"idle, more than the burst", p, p.Fresh(start), 6, 5, 0, false},
		{"two used", p, limit.State{TAT: start + 200*ms}, 4, 3, 100 * ms, true},
		{"all used", p, limit.State{TAT: start + 500*ms}, 1, 0, 100 * ms, true},
		{"a tick over", p, limit.State{TAT: start + 400*ms + 1}, 1, 0, 1, true},
		{"beyond the burst", p, limit.State{TAT: start + 900*ms}, 1, 0, 500 * ms, true},
		{"beyond the slack", p, limit.State{TAT: start + 501*ms + limit.ClockSlack}, 1, 5, 0, true},
		{"less than 1 ns", fine, limit.State{TAT: fine.Fresh(start).TAT + 1}, 2, 1, 1, true},
		{"exactly 1 ns", fine, limit.State{TAT: fine.Fresh(start).TAT + 16}, 2, 1, 1, true},
		{"just over 1 ns", fine, limit.State{TAT: fine.Fresh(start).TAT + 17}, 2, 0, 2, true},
		{"no units in debt", p, limit.State{TAT: start + 900*ms}, 0, 0, 0, true},
		{"price overflows", p, p.Fresh(start), math.MaxUint64, 5, 0, false},
		{"price overflows to 0", limit.Params{Cost: 1 << 40, Burst: 1 << 41}, limit.State{TAT: start}, 1 << 24, 2, 0, false},
		{"no limit", limit.Params{}, limit.State{TAT: math.MaxUint64}, 9, math.MaxUint64, 0, true},
		{"one per hour", packets(t, "1pph", 3), limit.State{TAT: start + 3600*second}, 3, 2, 3600 * second, true},
	}
	for _, tt := range tests {
		if got := tt.p.Remaining(tt.s, start); got != tt.remaining {
			t.Errorf("%s: %d remaining, want %d", tt.name, got, tt.remaining)
		}
		if got, ok := tt.p.RetryAfter(tt.s, tt.n, start); got != tt.wait || ok != tt.ok {
			t.Errorf("%s: retry after %d, %v; want %d, %v", tt.name, got, ok, tt.wait, tt.ok)
		}
	}
}

func TestRemainingIsTheMostThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimit(t)
		s, at := l.state(t), reading(t, start-limit.ClockSlack)
		n := l.Remaining(s, at)
		if n > 0 && !l.Fits(s, n, at) || l.Fits(s, n+1, at) {
			t.Fatalf("%v %+v: %d remain, Fits is %v for it and %v for one more", l, s, n, l.Fits(s, n, at), l.Fits(s, n+1, at))
		}
	})
}

func TestRetryAfterIsTheFirstTimeThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimit(t)
		s, at := l.state(t), reading(t, start-limit.ClockSlack)
		n := rapid.Uint64Range(0, l.burst+1).Draw(t, "n")
		wait, ok := l.RetryAfter(s, n, at)
		if ok != (n <= l.burst) {
			t.Fatalf("%v: %d units can fit: %v", l, n, ok)
		}
		if ok && !l.Fits(s, n, at+wait) || wait > 0 && l.Fits(s, n, at+wait-1) {
			t.Fatalf("%v %+v: %d units after %d ns is not the first time", l, s, n, wait)
		}
	})
}

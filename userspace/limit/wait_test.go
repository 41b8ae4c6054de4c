package limit_test

import (
	"math"
	"testing"

	"github.com/headgate/headgate/userspace/limit"
	"pgregory.net/rapid"
)

func TestRemainingAndRetryAfter(t *testing.T) {
	p := packets(t, "10pps", 5) // 100 ms each
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
		{"idle", p, limit.State{}, 1, 5, 0, true},
		{"idle, whole burst", p, limit.State{}, 5, 5, 0, true},
		{"idle, more than the burst", p, limit.State{}, 6, 5, 0, false},
		{"two used", p, limit.State{TAT: start + 200*ms}, 4, 3, 100 * ms, true},
		{"all used", p, limit.State{TAT: start + 500*ms}, 1, 0, 100 * ms, true},
		{"a fraction over", p, limit.State{TAT: start + 400*ms, Phase: 1}, 1, 0, 1, true},
		{"beyond the burst", p, limit.State{TAT: start + 2*second}, 1, 0, 1600 * ms, true},
		{"price overflows", p, limit.State{}, math.MaxUint64, 5, 0, false},
		{"price overflows to 0", limit.Params{Cost: 1 << 40, Burst: 1 << 41}, limit.State{}, 1 << 24, 2, 0, false},
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
		p, _, _ := drawParams(t)
		s := limit.State{TAT: start - 5 + drawGap(t, p), Phase: rapid.Uint32().Draw(t, "phase")}
		n := p.Remaining(s, start)
		if n > 0 && !p.Fits(s, n, start) || p.Fits(s, n+1, start) {
			t.Fatalf("%+v %+v: %d remain, Fits is %v for it and %v for one more", p, s, n, p.Fits(s, n, start), p.Fits(s, n+1, start))
		}
	})
}

func TestRetryAfterIsTheFirstTimeThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, _, burst := drawParams(t)
		s := limit.State{TAT: start - 5 + drawGap(t, p), Phase: rapid.Uint32().Draw(t, "phase")}
		n := rapid.Uint64Range(0, burst+1).Draw(t, "n")
		wait, ok := p.RetryAfter(s, n, start)
		if ok != (n <= burst) {
			t.Fatalf("%+v: %d of burst %d can fit: %v", p, n, burst, ok)
		}
		if ok && !p.Fits(s, n, start+wait) || wait > 0 && p.Fits(s, n, start+wait-1) {
			t.Fatalf("%+v %+v: %d units after %d ns is not the first time", p, s, n, wait)
		}
	})
}

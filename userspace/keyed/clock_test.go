package keyed

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestClock(t *testing.T) {
	const h, s = time.Hour, time.Second
	type step struct{ now, want time.Duration }
	tests := []struct {
		name  string
		steps []step
	}{
		{"goes on", []step{{5 * s, 5 * s}, {5 * s, 5 * s}, {7 * s, 7 * s}}},
		{"begins before 0", []step{{-5 * s, -5 * s}, {0, 0}}},
		{"read a little earlier", []step{{5 * s, 5 * s}, {4 * s, 5 * s}, {5*s - 1, 5 * s}, {6 * s, 6 * s}}},
		{"set back", []step{{2 * h, 2 * h}, {h, 2 * h}, {h + s, 2*h + s}, {h + 2*s, 2*h + 2*s}}},
		{"set back twice", []step{{2 * h, 2 * h}, {h, 2 * h}, {h + s, 2*h + s}, {0, 2*h + s}, {s, 2*h + 2*s}}},
		{"set back and forth", []step{{h, h}, {0, h}, {h, 2 * h}}},
		{"the ends of time", []step{{math.MinInt64, math.MinInt64}, {math.MaxInt64, math.MaxInt64}, {0, math.MaxInt64}, {h, math.MaxInt64}}},
	}
	for _, tt := range tests {
		c := newClock()
		for i, st := range tt.steps {
			if got := c.at(st.now); got != st.want {
				t.Errorf("%s, step %d: at %s it is %s, want %s", tt.name, i, st.now, got, st.want)
			}
			if got := c.advance(st.now); got != st.want {
				t.Errorf("%s, step %d: %s advances to %s, want %s", tt.name, i, st.now, got, st.want)
			}
		}
	}
}

// Whatever the clock does, time does not go back, and goes on as fast as a clock
// that is not set.
func TestClockNeverGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		now := time.Duration(rapid.Int64().Draw(t, "first"))
		last := c.advance(now)
		for range 20 {
			if rapid.Bool().Draw(t, "jump") {
				now = time.Duration(rapid.Int64().Draw(t, "to"))
				at := c.advance(now)
				if at < last {
					t.Fatalf("at %s it is %s, after %s", now, at, last)
				}
				last = at
				continue
			}
			step := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "step"))
			if now > math.MaxInt64-step || last > math.MaxInt64-step || c.seen != now {
				continue
			}
			now += step
			if at := c.advance(now); at != last+step {
				t.Fatalf("%s later it is %s later", step, at-last)
			}
			last += step
		}
	})
}

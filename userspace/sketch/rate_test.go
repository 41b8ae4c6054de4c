package sketch_test

import (
	"math"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/sketch"
)

func newRate(t testing.TB, o sketch.RateOptions) *sketch.Rate {
	t.Helper()
	r, err := sketch.NewRate(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func perSecond(aligned bool) sketch.RateOptions {
	return sketch.RateOptions{Interval: time.Second, Aligned: aligned}
}

// step is a call at a time, in intervals.
type step struct {
	at      float64
	observe int64 // 0 to ask for the rate
	want    float64
}

// run does the steps, and asks for the rate by f.
func run(t *testing.T, o sketch.RateOptions, f func(*sketch.Rate, time.Duration) float64, steps []step) {
	t.Helper()
	r := newRate(t, o)
	for i, s := range steps {
		now := time.Duration(s.at * float64(o.Interval))
		var got float64
		if s.observe != 0 {
			got = float64(r.Observe(1, s.observe, now))
		} else {
			got = f(r, now)
		}
		if math.Abs(got-s.want) > 1e-9*s.want {
			t.Errorf("%s, aligned %v, step %d at %v: %v, want %v", o.Interval, o.Aligned, i, s.at, got, s.want)
		}
	}
}

func rate(r *sketch.Rate, now time.Duration) float64 { return r.Rate(1, now) }

func with(f func(sketch.Window) float64) func(*sketch.Rate, time.Duration) float64 {
	return func(r *sketch.Rate, now time.Duration) float64 { return r.RateWith(1, now, f) }
}

// The tests of pingora-limits 0.8.0, at whole seconds, where aligned windows are the same.
func TestRateVectors(t *testing.T) {
	observed := []step{{0, 3, 3}, {0, 2, 5}}
	tests := []struct {
		name  string
		f     func(*sketch.Rate, time.Duration) float64
		steps []step
	}{
		{"rate", rate, []step{{0, 0, 0}, {1, 4, 4}, {1, 0, 5}, {2, 0, 4}, {3, 0, 0}}},
		{"90 to 10", with(func(w sketch.Window) float64 {
			return (float64(w.Previous)*.1 + float64(w.Current)*.9) / w.Interval.Seconds()
		}), []step{{0, 0, 4.5}, {1, 4, 4}, {1, 0, 4.1}, {2, 0, .4}, {3, 0, 0}}},
		{"proportional", with(sketch.Proportional), []step{
			{0, 0, 5}, {.5, 0, 5}, {1, 4, 4}, {1, 0, 9}, {1.75, 0, 5.25}, {2, 0, 4}, {2.5, 0, 2}, {3.5, 0, 0},
		}},
		{"rate beside proportional", rate, []step{{.5, 0, 0}, {1, 4, 4}, {2, 0, 4}, {2.5, 0, 4}, {3.5, 0, 0}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, aligned := range []bool{false, true} {
				run(t, perSecond(aligned), test.f, append(observed[:2:2], test.steps...))
			}
		})
	}
}

// pingora's window begins with the first access after the one before is over, ours too unless aligned.
func TestRateWindowsDriftUnlessAligned(t *testing.T) {
	drifting := []step{{0, 3, 3}, {1.5, 2, 2}, {2.2, 0, 3}, {2.5, 0, 2}, {4.4, 0, 0}, {4.5, 7, 7}, {5.4, 1, 1}, {5.4, 0, 7}}
	run(t, perSecond(false), rate, drifting)
	aligned := []step{{0, 3, 3}, {1.5, 2, 2}, {1.9, 1, 3}, {2.2, 0, 3}, {3, 0, 0}, {4.4, 1, 1}, {5.2, 0, 1}, {9.9, 5, 5}, {10, 0, 5}}
	run(t, perSecond(true), rate, aligned)
}

// What pingora says right after a late access jumps up, because the fraction starts again at 0.
func TestAlignedEstimateDoesNotJump(t *testing.T) {
	proportional := with(sketch.Proportional)
	run(t, perSecond(false), proportional, []step{{0, 8, 8}, {1.5, 0, 4}, {1.5, 0, 8}})
	run(t, perSecond(true), proportional, []step{{0, 8, 8}, {1.5, 0, 4}, {1.5, 0, 4}, {1.75, 0, 2}})
}

// Windows are the same at any length: pingora divides by 0 below a millisecond.
func TestRateIntervals(t *testing.T) {
	for _, interval := range []time.Duration{2, 500 * time.Microsecond, time.Millisecond, time.Hour, math.MaxInt64 / 8 * 2} {
		scale := 1 / interval.Seconds()
		steps := []step{{0, 3, 3}, {.5, 2, 5}, {.5, 0, 0}, {1, 4, 4}, {1, 0, 5 * scale}, {2, 0, 4 * scale}, {3, 0, 0}}
		for _, aligned := range []bool{false, true} {
			run(t, sketch.RateOptions{Interval: interval, Aligned: aligned}, rate, steps)
		}
	}
}

// A goroutine that read the clock before another began a window wipes nothing: pingora's difference of
// unsigned times wraps, and empties both windows.
func TestRateWithEarlierNow(t *testing.T) {
	for _, aligned := range []bool{false, true} {
		run(t, perSecond(aligned), rate, []step{
			{0, 5, 5}, {1, 4, 4}, {.999999, 1, 5}, {0, 1, 6}, {-1, 1, 7}, {.5, 0, 5}, {1.9, 0, 5}, {2, 0, 7},
		})
	}
}

// cloudflare/pingora#954: a peek says what the rate is, and moves no window.
func TestCase67PeekChangesNothing(t *testing.T) {
	for _, aligned := range []bool{false, true} {
		peeked, not := newRate(t, perSecond(aligned)), newRate(t, perSecond(aligned))
		for i := range time.Duration(40) {
			now := i * 370 * time.Millisecond
			for ahead := range time.Duration(30) {
				peeked.Peek(1, now+ahead*100*time.Millisecond)
			}
			want := not.Peek(1, now)
			if got := peeked.Peek(1, now); got != want {
				t.Fatalf("at %s: %+v with other peeks before, %+v without", now, got, want)
			}
			if got := peeked.RateWith(1, now, sketch.Proportional); got != sketch.Proportional(want) {
				t.Errorf("at %s: rate %v, peeked %v", now, got, sketch.Proportional(want))
			}
			not.Rate(1, now)
			if got, want := peeked.Observe(1, 1, now), not.Observe(1, 1, now); got != want {
				t.Errorf("at %s: %d, want %d", now, got, want)
			}
		}
	}
}

func TestPeekWindow(t *testing.T) {
	r := newRate(t, perSecond(false))
	r.Observe(1, 3, 0)
	r.Observe(1, 4, 1250*time.Millisecond)
	for now, want := range map[time.Duration]sketch.Window{
		1250 * time.Millisecond: {Previous: 3, Current: 4},
		1750 * time.Millisecond: {Previous: 3, Current: 4, Fraction: .5},
		2250 * time.Millisecond: {Previous: 4},
		2500 * time.Millisecond: {Previous: 4, Fraction: .25},
		3250 * time.Millisecond: {},
		math.MaxInt64:           {Fraction: .604775807},
	} {
		want.Interval = time.Second
		if got := r.Peek(1, now); got != want {
			t.Errorf("at %s: %+v, want %+v", now, got, want)
		}
	}
}

// Tags of windows come round after a million: a key that was last seen then is not taken for new, and
// one that is seen again is counted.
func TestRateForgetsWhatIsMillionsOfWindowsOld(t *testing.T) {
	const windows = 1<<20 + 1<<10
	r := newRate(t, sketch.RateOptions{Interval: 2, EstimatorOptions: sketch.EstimatorOptions{Slots: 64}})
	r.Observe(1, 5, 0)
	r.Observe(1, 6, 2)
	for i := time.Duration(1); i < windows; i++ {
		now := 2 * i
		if got := r.Rate(1, now); i > 2 && got != 0 {
			t.Fatalf("%d windows later: %v", i, got)
		}
		if i&(i-1) == 0 { // at each power of two look at a key of its own
			if got := r.Observe(uint64(i)+10, 1, now); got < 1 || got > 2 {
				t.Fatalf("%d windows later a new key has %d", i, got)
			}
		}
	}
	if got := r.Observe(1, 1, 2*windows); got != 1 {
		t.Errorf("after %d windows: %d, want 1", windows, got)
	}
}

func TestRateSaturates(t *testing.T) {
	const most = 1<<43 - 1
	r := newRate(t, perSecond(false))
	for _, step := range []struct{ n, want int64 }{
		{math.MaxInt64, most}, {1, most}, {-1, most - 1}, {math.MinInt64, -1}, {math.MinInt64, -most}, {-1, -most}, {7, 7 - most},
	} {
		if got := r.Observe(1, step.n, 0); got != step.want {
			t.Errorf("Observe(%d) = %d, want %d", step.n, got, step.want)
		}
	}
	if got := r.Rate(1, time.Second); got != 7-most {
		t.Errorf("rate %v, want %v", got, 7-most)
	}
}

// envoyproxy/ratelimit#739: counts of addresses in constant memory, no address below its true count.
func TestCase66RateCountsAnyNumberOfKeys(t *testing.T) {
	o := perSecond(true)
	o.EstimatorOptions = sketch.EstimatorOptions{Slots: 4096, Seed: 1}
	r := newRate(t, o)
	truth := zipf(2, func(key uint64) { r.Observe(key, 1, 0) })
	beyond := 0
	for key, n := range truth {
		got := int64(r.Rate(key, time.Second))
		if got < n {
			t.Fatalf("key %d: %d is below the true %d", key, got, n)
		}
		if float64(got-n) > math.E/4096*occurrences {
			beyond++
		}
	}
	if share := float64(beyond) / float64(len(truth)); share > math.Exp(-4) {
		t.Errorf("%.4f of the keys are wrong by more than the bound", share)
	}
}

func TestRateOptionsAreChecked(t *testing.T) {
	for o, want := range map[sketch.RateOptions]string{
		{}:             "sketch: interval 0s; use at least 1ns",
		{Interval: -1}: "sketch: interval -1ns; use at least 1ns",
		{Interval: 1, EstimatorOptions: sketch.EstimatorOptions{Hashes: 99}}: "sketch: 99 hashes; use 1 to 16",
		{Interval: math.MaxInt64}: "",
	} {
		if _, err := sketch.NewRate(o); errorText(err) != want {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

func TestSketchesDoNotAllocate(t *testing.T) {
	r, e, h := newRate(t, perSecond(false)), newEstimator(t, 4, 1024, 1), sketch.NewHasher(1)
	now := time.Duration(0)
	for name, f := range map[string]func(){
		"Observe":  func() { now += 300 * time.Millisecond; r.Observe(h.String("a key of a client"), 1, now) },
		"Rate":     func() { now += 300 * time.Millisecond; r.Rate(1, now) },
		"RateWith": func() { r.RateWith(1, now, sketch.Proportional) },
		"Peek":     func() { r.Peek(1, now) },
		"Incr":     func() { e.Incr(1, 1); e.Decr(1, 1); e.Get(1) },
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

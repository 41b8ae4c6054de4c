package adaptive_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/test/backend"
	"github.com/headgate/headgate/userspace/adaptive"
	"github.com/headgate/headgate/userspace/config"
)

// capacity is how many requests a second the backend answers, and rate what passes at the factor 1.
const capacity, rate = 1000.0, 2000.0

// defaults is as the configuration has it.
func defaults() config.Adaptive {
	return config.Adaptive{
		Interval: time.Second, Floor: 0.1, Ceiling: 1, Increase: 0.05, Decrease: 0.7, Recover: 0.8,
		Latency: config.Latency{Percentile: 99, Target: 200 * ms},
	}
}

// flood are three times as many requests as can be answered.
func flood(seed uint64, a config.Adaptive) backend.Scenario {
	return backend.Scenario{
		Seed: seed, For: 5 * time.Minute, Adaptive: a, Workers: 8, Rate: rate,
		Offered: backend.Always(3 * capacity), Capacity: backend.Always(capacity),
	}
}

// course sums intervals up.
type course struct {
	answered, turns, well int
	lowest, highest       float64
}

func follow(intervals []backend.Interval, target time.Duration) (c course) {
	c.lowest = intervals[0].Was
	up := true
	for _, i := range intervals {
		c.answered += i.Answered
		if i.P99 <= target {
			c.well++
		}
		c.lowest, c.highest = min(c.lowest, i.Factor), max(c.highest, i.Factor)
		if i.Changed() && up != (i.Factor > i.Was) {
			up = !up
			c.turns++
		}
	}
	return c
}

// Under a flood most of the capacity is used, the latency is held, and the factor turns twice in
// sixteen intervals: a decrease, two or three steps, and many small ones.
func TestConverges(t *testing.T) {
	for seed := range uint64(4) {
		intervals := backend.Run(flood(seed, defaults()))
		got := follow(intervals[30:], 200*ms)
		all := len(intervals) - 30
		if share := float64(got.answered) / (capacity * float64(all)); share < 0.93 {
			t.Errorf("seed %d: %.3f of the capacity used", seed, share)
		}
		if share := float64(got.well) / float64(all); share < 0.85 {
			t.Errorf("seed %d: within the target in %.3f of all intervals", seed, share)
		}
		// What is right is 0.5, and a decrease is 0.7.
		if got.lowest < 0.33 || got.highest > 0.56 {
			t.Errorf("seed %d: the factor is between %v and %v", seed, got.lowest, got.highest)
		}
		if got.turns > all/7 {
			t.Errorf("seed %d: it turns %d times in %d intervals", seed, got.turns, all)
		}
	}
}

// Without the limit the same backend answers nothing in time.
func TestWithoutItIsLate(t *testing.T) {
	a := defaults()
	a.Observe = true
	got := follow(backend.Run(flood(1, a))[30:], 200*ms)
	if got.well != 0 || got.lowest != a.Floor {
		t.Errorf("%+v", got)
	}
}

// Each signal holds the backend.
func TestSignals(t *testing.T) {
	for name, set := range map[string]func(*config.Adaptive){
		"in flight": func(a *config.Adaptive) { a.Latency, a.InFlight = config.Latency{}, 50 },
		"p50":       func(a *config.Adaptive) { a.Latency = config.Latency{Percentile: 50, Target: 50 * ms} },
		"p99.9":     func(a *config.Adaptive) { a.Latency.Percentile = 99.9 },
	} {
		a := defaults()
		set(&a)
		got := follow(backend.Run(flood(1, a))[30:], 300*ms)
		if share := float64(got.answered) / (capacity * 270); share < 0.9 || got.well < 235 {
			t.Errorf("%s: %.3f of the capacity used, in time in %d of 270 intervals", name, share, got.well)
		}
	}
}

// A backend that gets slower is relieved within a minute, and used again within a minute after it got well.
func TestStepChange(t *testing.T) {
	s := flood(3, defaults())
	s.For = 10 * time.Minute
	s.Capacity = func(at time.Duration) float64 {
		if at > 200*time.Second && at < 400*time.Second {
			return capacity / 2
		}
		return capacity
	}
	intervals := backend.Run(s)
	slow := follow(intervals[260:400], 400*ms)
	if share := float64(slow.answered) / (140 * capacity / 2); share < 0.85 || slow.well < 130 || slow.highest > 0.3 {
		t.Errorf("at half of the capacity: %.3f of it used, %+v", share, slow)
	}
	well := follow(intervals[460:], 200*ms)
	if share := float64(well.answered) / (140 * capacity); share < 0.92 || well.lowest < 0.33 {
		t.Errorf("well again: %.3f of the capacity used, %+v", share, well)
	}
}

// When the flood ends, the factor is back at 1 within 10 s plus what the small steps take.
func TestRecoversWhenTheFloodEnds(t *testing.T) {
	s := flood(4, defaults())
	s.For = 10 * time.Minute
	s.Offered = func(at time.Duration) float64 {
		if at > 300*time.Second {
			return capacity / 3
		}
		return 3 * capacity
	}
	got := follow(backend.Run(s)[350:], 200*ms)
	if got.lowest != 1 || got.turns != 0 || got.well != 250 {
		t.Errorf("%+v", got)
	}
}

// 5xx answers for ten seconds lower the factor to the floor at most, and it comes back.
func TestErrorsEnd(t *testing.T) {
	a := defaults()
	a.Latency, a.Errors = config.Latency{}, 0.05
	s := flood(5, a)
	s.Offered = backend.Always(capacity / 2)
	s.Status = func(at time.Duration) int {
		if at > 100*time.Second && at < 110*time.Second {
			return 500
		}
		return 200
	}
	intervals := backend.Run(s)
	if got := follow(intervals[:100], 200*ms); got.lowest != 1 {
		t.Errorf("before: %+v", got)
	}
	during, after := follow(intervals[100:120], 200*ms), follow(intervals[160:], 200*ms)
	if during.lowest > 0.25 || after.lowest != 1 {
		t.Errorf("during: %+v; after: %+v", during, after)
	}
}

// Of answers 0.3 % that take long by themselves, and few answers of which some do, change nothing.
func TestNoise(t *testing.T) {
	for _, perSecond := range []int{1000, 3} {
		c := adaptive.New(defaults(), adaptive.Options{})
		for second := range 600 {
			for i := range perSecond {
				latency := 20 * ms
				if (second*perSecond+i)%333 == 0 {
					latency = 5 * time.Second
				}
				c.Observe(200, latency)
			}
			if got := c.Step(time.Duration(second+1) * time.Second); got.Changed() {
				t.Fatalf("%d answers a second: %+v", perSecond, got)
			}
		}
	}
}

// Where latency follows the load smoothly there is a factor between Recover and the target, and it stays there.
func TestStandsStill(t *testing.T) {
	c := adaptive.New(defaults(), adaptive.Options{})
	last := 0
	for second := range 600 {
		load := min(rate*c.Factor()/capacity, 0.99)
		for range 1000 {
			c.Observe(200, time.Duration(float64(20*ms)/(1-load)))
		}
		if c.Step(time.Duration(second+1) * time.Second).Changed() {
			last = second
		}
	}
	if last > 60 || c.State().Health != adaptive.Between {
		t.Errorf("changed for the last time after %d s: %+v", last, c.State())
	}
}

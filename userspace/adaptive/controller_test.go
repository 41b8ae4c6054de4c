package adaptive_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/adaptive"
	"github.com/headgate/headgate/userspace/config"
)

const ms = time.Millisecond

// settings has bounds of 0.1 and 2, and no signal.
func settings() config.Adaptive {
	return config.Adaptive{
		Interval: time.Second, Floor: 0.1, Ceiling: 2,
		Increase: 0.1, Decrease: 0.5, Recover: 0.8,
	}
}

func byLatency() config.Adaptive {
	c := settings()
	c.Latency = config.Latency{Percentile: 99, Target: 200 * ms}
	return c
}

func byErrors() config.Adaptive {
	c := settings()
	c.Errors = 0.1
	return c
}

func byInFlight() config.Adaptive {
	c := settings()
	c.InFlight = 10
	return c
}

// window is what happens in a second, and what has to come of it.
type window struct {
	answers []answer
	waiting int // at its end
	health  adaptive.Health
	factor  float64
}

type answer struct {
	n       int
	status  int
	latency time.Duration
}

func ok(n int, latency time.Duration) []answer { return []answer{{n, 200, latency}} }

// wellAndFailed are answers of 20 ms.
func wellAndFailed(well, failed int) []answer {
	return []answer{{well, 200, 20 * ms}, {failed, 503, 20 * ms}}
}

func TestWindows(t *testing.T) {
	const slow, well = 300 * ms, 20 * ms
	tests := map[string]struct {
		config  config.Adaptive
		windows []window
	}{
		"up by addition, to the ceiling": {byLatency(), []window{
			{ok(100, well), 0, adaptive.Healthy, 1.1}, {ok(100, well), 0, adaptive.Healthy, 1.2},
			{ok(100, well), 0, adaptive.Healthy, 1.3}, {ok(100, well), 0, adaptive.Healthy, 1.4},
			{ok(100, well), 0, adaptive.Healthy, 1.5}, {ok(100, well), 0, adaptive.Healthy, 1.6},
			{ok(100, well), 0, adaptive.Healthy, 1.7}, {ok(100, well), 0, adaptive.Healthy, 1.8},
			{ok(100, well), 0, adaptive.Healthy, 1.9}, {ok(100, well), 0, adaptive.Healthy, 2},
			{ok(100, well), 0, adaptive.Healthy, 2},
		}},
		"down by multiplication, to the floor, once per two latencies": {byLatency(), []window{
			{ok(100, slow), 0, adaptive.Unhealthy, 0.5}, {ok(100, slow), 0, adaptive.Settling, 0.5},
			{ok(100, slow), 0, adaptive.Unhealthy, 0.25}, {ok(100, slow), 0, adaptive.Settling, 0.25},
			{ok(100, slow), 0, adaptive.Unhealthy, 0.125}, {ok(100, slow), 0, adaptive.Settling, 0.125},
			{ok(100, slow), 0, adaptive.Unhealthy, 0.1}, {ok(100, slow), 0, adaptive.Settling, 0.1},
		}},
		"longer latencies settle later": {byLatency(), []window{
			{ok(100, 1300*ms), 0, adaptive.Unhealthy, 0.5},
			{ok(100, 1300*ms), 0, adaptive.Settling, 0.5}, {ok(100, 1300*ms), 0, adaptive.Settling, 0.5},
			{ok(100, 1300*ms), 0, adaptive.Settling, 0.5}, {ok(100, 1300*ms), 0, adaptive.Unhealthy, 0.25},
		}},
		"what falls is left to fall": {byLatency(), []window{
			{ok(100, 900*ms), 0, adaptive.Unhealthy, 0.5}, {ok(100, 900*ms), 0, adaptive.Settling, 0.5},
			{ok(100, 900*ms), 0, adaptive.Settling, 0.5}, {ok(100, 700*ms), 0, adaptive.Settling, 0.5},
			{ok(100, 500*ms), 0, adaptive.Settling, 0.5}, {ok(100, 490*ms), 0, adaptive.Unhealthy, 0.25},
		}},
		"between": {byLatency(), []window{
			{ok(100, 180*ms), 0, adaptive.Between, 1}, {ok(100, 195*ms), 0, adaptive.Between, 1},
			{ok(100, 165*ms), 0, adaptive.Between, 1}, {ok(100, 150*ms), 0, adaptive.Healthy, 1.1},
		}},
		"one in a hundred may be slow, two may not": {byLatency(), []window{
			{append(ok(990, well), answer{10, 200, slow}), 0, adaptive.Healthy, 1.1},
			{append(ok(980, well), answer{20, 200, slow}), 0, adaptive.Unhealthy, 0.55},
		}},
		"four slow ones are too few to lower": {byLatency(), []window{
			{ok(4, slow), 0, adaptive.Doubtful, 1}, {append(ok(10, well), answer{4, 200, slow}), 0, adaptive.Doubtful, 1},
			{append(ok(10, well), answer{5, 200, slow}), 0, adaptive.Unhealthy, 0.5},
		}},
		"idle: towards 1 from below": {byLatency(), []window{
			{ok(100, slow), 0, adaptive.Unhealthy, 0.5},
			{nil, 0, adaptive.Quiet, 0.6}, {ok(4, well), 0, adaptive.Quiet, 0.7}, {nil, 0, adaptive.Quiet, 0.8},
			{nil, 0, adaptive.Quiet, 0.9}, {nil, 0, adaptive.Quiet, 1}, {nil, 0, adaptive.Quiet, 1},
		}},
		"idle: towards 1 from above": {byLatency(), []window{
			{ok(5, well), 0, adaptive.Healthy, 1.1}, {ok(5, well), 0, adaptive.Healthy, 1.2},
			{nil, 0, adaptive.Quiet, 1.1}, {nil, 0, adaptive.Quiet, 1}, {nil, 0, adaptive.Quiet, 1},
		}},
		"small steps close to what was too much": {byLatency(), []window{
			{ok(100, slow), 0, adaptive.Unhealthy, 0.5},
			{ok(100, well), 0, adaptive.Healthy, 0.6}, {ok(100, well), 0, adaptive.Healthy, 0.7},
			{ok(100, well), 0, adaptive.Healthy, 0.8}, {ok(100, well), 0, adaptive.Healthy, 0.9},
			{ok(100, well), 0, adaptive.Healthy, 0.91}, {ok(100, well), 0, adaptive.Healthy, 0.92},
		}},
		"a backend that is down fails fast": {byLatency(), []window{
			{wellAndFailed(0, 100), 0, adaptive.Failing, 1}, {wellAndFailed(50, 50), 0, adaptive.Failing, 1},
			{wellAndFailed(51, 49), 0, adaptive.Healthy, 1.1}, {wellAndFailed(0, 1), 0, adaptive.Failing, 1.1},
		}},
		"a backend that hangs": {byLatency(), []window{
			{ok(100, well), 50, adaptive.Healthy, 1.1}, // the 50 may have come just now
			{nil, 80, adaptive.Unhealthy, 0.55}, {nil, 90, adaptive.Settling, 0.55},
			{nil, 90, adaptive.Settling, 0.55}, {nil, 90, adaptive.Settling, 0.55},
			{nil, 90, adaptive.Unhealthy, 0.275}, {ok(90, 5*time.Second), 0, adaptive.Settling, 0.275},
		}},
		"an idle backend that hangs": {byLatency(), []window{
			{nil, 0, adaptive.Quiet, 1}, {nil, 50, adaptive.Quiet, 1}, {nil, 50, adaptive.Unhealthy, 0.5},
		}},
		"half a minute settles for ten intervals": {byLatency(), append(
			append([]window{{ok(100, 30*time.Second), 0, adaptive.Unhealthy, 0.5}},
				slices.Repeat([]window{{ok(100, 30*time.Second), 0, adaptive.Settling, 0.5}}, 10)...),
			window{ok(100, 30*time.Second), 0, adaptive.Unhealthy, 0.25})},
		"four that hang are too few": {byLatency(), []window{
			{ok(100, well), 4, adaptive.Healthy, 1.1}, {nil, 4, adaptive.Doubtful, 1.1}, {nil, 4, adaptive.Doubtful, 1.1},
		}},
		"clients that went away wait no more": {byLatency(), []window{
			{ok(100, well), 50, adaptive.Healthy, 1.1}, {nil, 0, adaptive.Quiet, 1},
			{ok(100, well), 50, adaptive.Healthy, 1.1}, {[]answer{{50, adaptive.ClientGone, slow}}, 50, adaptive.Quiet, 1},
		}},
		"share of 5xx": {byErrors(), []window{
			{wellAndFailed(95, 5), 0, adaptive.Healthy, 1.1}, {wellAndFailed(91, 9), 0, adaptive.Between, 1.1},
			{wellAndFailed(90, 10), 0, adaptive.Between, 1.1}, {wellAndFailed(89, 11), 0, adaptive.Unhealthy, 0.55},
			{wellAndFailed(89, 11), 0, adaptive.Settling, 0.55}, {wellAndFailed(89, 11), 0, adaptive.Unhealthy, 0.275},
		}},
		"no answer at all is a 5xx, a 4xx is none": {byErrors(), []window{
			{[]answer{{50, 404, well}, {50, 429, well}}, 0, adaptive.Healthy, 1.1},
			{[]answer{{80, 200, well}, {20, 0, well}}, 0, adaptive.Unhealthy, 0.55},
		}},
		"four 5xx are too few": {byErrors(), []window{
			{wellAndFailed(0, 4), 0, adaptive.Doubtful, 1}, {wellAndFailed(0, 5), 0, adaptive.Unhealthy, 0.5},
		}},
		"under way: answers of 100 ms": {byInFlight(), []window{
			{ok(70, 100*ms), 9, adaptive.Healthy, 1.1},      // 7 on average; 9 at the end may have come just now
			{ok(90, 100*ms), 9, adaptive.Between, 1.1},      // 9
			{ok(120, 100*ms), 9, adaptive.Unhealthy, 0.55},  // 12
			{ok(120, 100*ms), 90, adaptive.Settling, 0.55},  // 12
			{ok(10, 100*ms), 90, adaptive.Unhealthy, 0.275}, // 1, and 80 that were there before
		}},
		"under way: an answer of an hour was there for this second only": {byInFlight(), []window{
			{ok(5, time.Hour), 0, adaptive.Healthy, 1.1},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			waiting := 0
			c := adaptive.New(test.config, adaptive.Options{Waiting: func() int { return waiting }})
			was, raised, lowered := 1.0, uint64(0), uint64(0)
			for i, w := range test.windows {
				observe(c, w.answers)
				waiting = w.waiting
				got := c.Step(time.Duration(i+1) * time.Second)
				if got.Health != w.health || got.Factor != w.factor || got.Was != was {
					t.Fatalf("window %d: %s, %v after %v; want %s, %v after %v (%s)",
						i, got.Health, got.Factor, got.Was, w.health, w.factor, was, got.Reason)
				}
				if c.Factor() != w.factor || c.State().Change != got {
					t.Fatalf("window %d: Factor %v, State %+v", i, c.Factor(), c.State())
				}
				raised, lowered = raised+above(w.factor, was), lowered+above(was, w.factor)
				was = w.factor
			}
			if got := c.State(); got.Raised != raised || got.Lowered != lowered {
				t.Errorf("raised %d times, lowered %d times; want %d and %d", got.Raised, got.Lowered, raised, lowered)
			}
		})
	}
}

// above returns 1 if a is above b.
func above(a, b float64) uint64 {
	if a > b {
		return 1
	}
	return 0
}

func observe(c *adaptive.Controller, answers []answer) {
	for _, a := range answers {
		for range a.n {
			c.Observe(a.status, a.latency)
		}
	}
}

func TestReasons(t *testing.T) {
	tests := []struct {
		config  config.Adaptive
		answers []answer
		want    string
	}{
		{byLatency(), ok(100, 20*ms), "p99 20.2ms in 100 answers, not above 160ms"},
		{byLatency(), ok(100, 300*ms), "p99 299ms in 100 answers, above 200ms"},
		{byLatency(), ok(100, 180*ms), "p99 178.2ms in 100 answers, between 160ms and 200ms"},
		{byLatency(), ok(4, 300*ms), "p99 299ms in 4 answers, above 200ms, but only 4 of them are: 5 are needed"},
		{byLatency(), wellAndFailed(0, 10), "p99 20.2ms in 10 answers, but half of them are 5xx"},
		{byLatency(), nil, "0 answers: fewer than 5 say nothing"},
		{byErrors(), wellAndFailed(88, 12), "share of 5xx 12% in 100 answers, above 10%"},
		{byInFlight(), ok(120, 100*ms), "requests under way 11.9 in 120 answers, above 10.0"},
	}
	for _, test := range tests {
		c := adaptive.New(test.config, adaptive.Options{})
		observe(c, test.answers)
		if got := c.Step(time.Second).Reason; got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	c := adaptive.New(byLatency(), adaptive.Options{})
	for i := range 2 {
		observe(c, ok(100, 300*ms))
		if got := c.Step(time.Duration(i+1) * time.Second).Reason; i == 1 && !strings.HasSuffix(got, "may not show yet") {
			t.Error(got)
		}
	}
}

// In observe mode all is decided, and nothing is to be applied.
func TestObserveMode(t *testing.T) {
	a := byLatency()
	a.Observe = true
	c := adaptive.New(a, adaptive.Options{})
	observe(c, ok(100, 300*ms))
	if got := c.Step(time.Second); got.Factor != 0.5 || !got.Changed() || !got.Observed {
		t.Errorf("%+v", got)
	}
	if got := c.Factor(); got != 1 {
		t.Errorf("to apply: %v", got)
	}
	a.Observe = false
	c.SetConfig(a)
	if got := c.Factor(); got != 0.5 {
		t.Errorf("to apply when it is not only observed any more: %v", got)
	}
}

// A new configuration keeps the factor as far as its bounds allow, and what was observed.
func TestSetConfig(t *testing.T) {
	c := adaptive.New(byLatency(), adaptive.Options{})
	observe(c, ok(100, 300*ms))
	c.Step(time.Second)
	observe(c, ok(100, 300*ms))
	higher := byLatency()
	higher.Floor = 0.8
	c.SetConfig(higher)
	if got := c.Factor(); got != 0.8 {
		t.Errorf("below the new floor: %v", got)
	}
	higher.Floor, higher.Latency.Target = 0.1, 400*ms
	c.SetConfig(higher)
	if got := c.Step(2 * time.Second); got.Was != 0.8 || got.Health != adaptive.Healthy || got.Answers != 100 {
		t.Errorf("by the new target: %+v", got)
	}
	lower := byLatency()
	lower.Ceiling = 0.3
	c.SetConfig(lower)
	if got := c.Factor(); got != 0.3 {
		t.Errorf("above the new ceiling: %v", got)
	}
}

// The same configuration again, as a reload for another reason brings it, does not shorten what has to settle. Another one does.
func TestSetConfigAgain(t *testing.T) {
	for _, test := range []struct {
		target time.Duration
		want   adaptive.Health
	}{{200 * ms, adaptive.Settling}, {201 * ms, adaptive.Unhealthy}} {
		a := byLatency()
		c := adaptive.New(a, adaptive.Options{})
		observe(c, ok(100, 300*ms))
		c.Step(time.Second)
		a.Latency.Target = test.target
		c.SetConfig(a)
		observe(c, ok(100, 300*ms))
		if got := c.Step(2 * time.Second); got.Health != test.want {
			t.Errorf("target %v: %+v", test.target, got)
		}
	}
}

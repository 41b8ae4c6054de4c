package adaptive

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// fine is the part of an increase that is added close to a factor that was too much.
const fine = 0.1

// falling is the part of the last signal below which a signal gets well by itself.
const falling = 0.9

// Controller decides about the factor. All methods may be called at the same time.
type Controller struct {
	waiting  func() int
	answers  recorder
	failures atomic.Uint64
	gone     atomic.Uint64

	mu      sync.Mutex
	config  config.Adaptive
	factor  float64
	knee    float64       // the factor that was too much last; 0 for none
	last    time.Duration // the last Step
	settled time.Duration // until then there are answers to what an older factor let in
	signal  float64       // of the last Step
	stuck   stuck
	change  Change
	raised  uint64 // decisions to do so
	lowered uint64
}

// Options are what a Controller needs to know beside its configuration.
type Options struct {
	// Waiting returns how many requests wait for the backend's response to begin. Those whose
	// response has begun, as long streams and websockets, should not be in it. nil for always 0.
	Waiting func() int
	// Now is the time of which the first window begins, on the clock of Step.
	Now time.Duration
}

// New returns a controller with the factor 1. c must be valid, as config.Parse returns it.
func New(c config.Adaptive, o Options) *Controller {
	if o.Waiting == nil {
		o.Waiting = func() int { return 0 }
	}
	return &Controller{
		waiting: o.Waiting,
		config:  c,
		factor:  1,
		last:    o.Now,
		stuck:   stuck{since: o.Now},
		change:  Change{Factor: 1, Was: 1, Health: Quiet, Observed: c.Observe, Reason: "no interval has ended yet"},
	}
}

// ClientGone is the status of a request whose client went away before the backend answered, as nginx logs it.
const ClientGone = 499

// Observe counts an answer of the backend, whose header came after latency. Status 0 is for no answer at all, and counts
// as 5xx. With ClientGone it is no answer, and all that is known is that the request waits no more.
// It takes two atomic additions at most.
func (c *Controller) Observe(status int, latency time.Duration) {
	switch {
	case status == ClientGone:
		c.gone.Add(1)
		return
	case status == 0 || status >= 500:
		c.failures.Add(1)
	}
	c.answers.add(latency)
}

// SetConfig changes the configuration. The factor stays, cut to the new bounds: the caller applies Factor anew.
// What was too much by another configuration is forgotten.
func (c *Controller) SetConfig(a config.Adaptive) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a == c.config {
		return
	}
	c.config = a
	c.factor = min(max(c.factor, a.Floor), a.Ceiling)
	c.knee, c.settled, c.signal = 0, 0, 0
	c.change.Factor, c.change.Observed = c.factor, a.Observe
}

// Factor returns what rates are to be multiplied with: always 1 where the configuration says to observe only.
func (c *Controller) Factor() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.change.Applied()
}

// State returns the last decision and how many there were.
func (c *Controller) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return State{Change: c.change, Raised: c.raised, Lowered: c.lowered}
}

// Step judges the window since the last Step and decides. now is the time since an instant that stays the same.
func (c *Controller) Step(now time.Duration) Change {
	waiting := c.waiting()
	c.mu.Lock()
	defer c.mu.Unlock()
	o := observed{latencies: c.answers.take(), failures: c.failures.Swap(0), elapsed: now - c.last}
	o.stuck, o.age = c.stuck.step(now, o.latencies.count()+c.gone.Swap(0), waiting)
	r := o.read(&c.config)
	health := c.judge(r)
	c.signal = r.value
	was := c.factor
	c.move(health, now, o.latencies)
	c.last = now
	c.change = Change{
		Factor: c.factor, Was: was, Health: health, Observed: c.config.Observe,
		Signal: r.value, Target: r.target, Answers: r.answers, Reason: health.reason(r, c.config.Recover),
	}
	c.count()
	return c.change
}

func (c *Controller) count() {
	switch {
	case c.factor > c.change.Was:
		c.raised++
	case c.factor < c.change.Was:
		c.lowered++
	}
}

func (c *Controller) judge(r reading) Health {
	switch {
	case r.over() && (c.last < c.settled || r.value < falling*c.signal):
		return Settling
	case r.over():
		return Unhealthy
	case r.value > r.target:
		return Doubtful
	case r.value > c.config.Recover*r.target:
		return Between
	case r.failing:
		return Failing
	case r.answers < enough:
		return Quiet
	default:
		return Healthy
	}
}

// move changes the factor.
func (c *Controller) move(h Health, now time.Duration, latencies *histogram) {
	switch h {
	case Unhealthy:
		c.knee = c.factor
		c.set(c.factor * c.config.Decrease)
		c.settled = now + min(2*latencies.percentile(99), 10*c.config.Interval)
	case Healthy:
		c.set(c.factor + c.step())
		if c.factor >= c.knee+c.config.Increase {
			c.knee = 0 // more than what was too much is well: it no longer holds
		}
	case Quiet:
		c.set(c.factor + min(max(1-c.factor, -c.config.Increase), c.config.Increase))
		c.knee = 0
	}
}

// step returns how much is added.
func (c *Controller) step() float64 {
	full := c.config.Increase
	if c.knee == 0 {
		return full
	}
	far := c.knee - full - c.factor // as far as it goes at full steps
	return min(max(far, full*fine), full)
}

// set keeps the factor within its bounds, and free of what sums of floating point numbers leave behind.
func (c *Controller) set(factor float64) {
	const precision = 1e6
	factor = math.Round(factor*precision) / precision
	c.factor = min(max(factor, c.config.Floor), c.config.Ceiling)
}

package limit

import (
	"fmt"

	"github.com/headgate/headgate/userspace/rate"
)

// LeakySpec is what a Leaky is made of. Rate gives the unit of the others.
type LeakySpec struct {
	Rate  rate.Rate
	Burst uint64 // units beyond the first that may come at one instant
	Delay uint64 // how many of the burst go on at once; Burst for all (nodelay)
}

// NewLeaky returns the Leaky of one limit whose states no other limit uses. It
// returns an error as CompileLeaky does.
func NewLeaky(r rate.Rate, burst, delay uint64) (Leaky, error) {
	limits, err := CompileLeaky([]LeakySpec{{Rate: r, Burst: burst, Delay: delay}})
	if err != nil {
		return Leaky{}, err
	}
	return limits[0], nil
}

// CompileLeaky returns the Leaky of each spec, in their order, for limits that
// share states: the same zone with several bursts, or with another rate for some
// keys. They count in the same ticks, and a debt made under one of them is not
// taken by another, with a smaller burst, for one that has passed long ago.
//
// The cost of a unit is that of Compile: exact, or rounded up by less than 0.1 %.
//
// It returns an error if a rate is not one that rate.FromInterval accepts
// (wrapping rate.ErrZero if it is zero), if a delay is more than its burst, or
// if burst+1 units would take more than 2^62 ticks.
func CompileLeaky(specs []LeakySpec) ([]Leaky, error) {
	rates := make([]rate.Rate, len(specs))
	var shift uint8
	for i, spec := range specs {
		r, err := rate.FromInterval(spec.Rate.Count, spec.Rate.Per, spec.Rate.Unit)
		if err != nil {
			return nil, err
		}
		_, needed := costOf(r)
		rates[i], shift = r, max(shift, needed)
	}
	limits := make([]Leaky, len(specs))
	var ceiling uint64
	for i, spec := range specs {
		l, err := spec.compile(rates[i], shift)
		if err != nil {
			return nil, err
		}
		limits[i], ceiling = l, max(ceiling, l.burst)
	}
	for i := range limits {
		limits[i].horizon = ceiling + ClockSlack<<shift
	}
	return limits, nil
}

// compile returns the Leaky at rate r, which is canonical, but for the horizon.
func (spec LeakySpec) compile(r rate.Rate, shift uint8) (Leaky, error) {
	cost, _ := costAt(r, shift)
	switch most := maxBurst/cost - 1; {
	case spec.Burst > most:
		return Leaky{}, fmt.Errorf("burst %d at %s: too large; use at most %d", spec.Burst, r, most)
	case spec.Delay > spec.Burst:
		return Leaky{}, fmt.Errorf("delay %d at %s: more than the burst; use at most %d", spec.Delay, r, spec.Burst)
	}
	return Leaky{
		cost:   cost,
		burst:  (spec.Burst + 1) * cost,
		prompt: (spec.Delay + 1) * cost,
		limit:  spec.Burst + 1,
		shift:  shift,
	}, nil
}

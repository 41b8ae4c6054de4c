package sketch

import (
	"fmt"
	"time"
)

// rateSlots is pingora's: 64 KiB with four rows and two windows.
const rateSlots = 1024

// Rate estimates how often keys occur, from the counts of the current window and the one before. All
// methods may be called at the same time and take no lock.
//
// now is the time since an instant that the caller fixes once, by a clock that does not go back. A now
// that is a little before the start of the current window, as happens to goroutines that are overtaken,
// is taken for its start. Before 0 is 0.
//
// A window counts at most 2^43-1 of each key, about 8.8e12, and stops there.
type Rate struct {
	windows windows
	cells   cells
}

// RateOptions are the settings of a Rate.
type RateOptions struct {
	// Interval is how long windows are, at least 1 ns. It has no default.
	Interval time.Duration
	// Aligned lets windows follow each other without a gap. Otherwise, as with pingora, the next window
	// begins when something is first counted, or asked for except by Peek, after the Interval of the one
	// before is over: what counts as previous may be up to twice the Interval, so that rates are too high.
	Aligned bool
	// EstimatorOptions are the size, with 1024 for Slots if they have none, and the Seed.
	EstimatorOptions
}

// Window is what a Rate knows of a key.
type Window struct {
	// Previous and Current are the counts of the window before and of the current one.
	Previous, Current int64
	// Interval is how long a window is.
	Interval time.Duration
	// Fraction is how much of the current window is over, from 0 to below 1.
	Fraction float64
}

// NewRate returns a Rate that has counted nothing, whose first window begins at 0. It fails if o is
// out of range.
func NewRate(o RateOptions) (*Rate, error) {
	if o.Interval <= 0 {
		return nil, fmt.Errorf("sketch: interval %s; use at least 1ns", o.Interval)
	}
	sized, err := o.sized(rateSlots)
	if err != nil {
		return nil, err
	}
	return &Rate{
		windows: windows{interval: o.Interval, aligned: o.Aligned},
		cells:   newCells(newRows(sized)),
	}, nil
}

// Observe counts n of key, and returns the estimate for the current window with them.
func (r *Rate) Observe(key uint64, n int64, now time.Duration) int64 {
	return r.cells.add(r.roll(now), key, n)
}

// Rate returns how many of key there were per second in the window before: 0 before the first is over.
func (r *Rate) Rate(key uint64, now time.Duration) float64 { return r.RateWith(key, now, completed) }

// RateWith returns what f, which may be Proportional, makes of the counts of key.
func (r *Rate) RateWith(key uint64, now time.Duration, f func(Window) float64) float64 {
	w := r.Peek(key, now)
	r.roll(now)
	return f(w)
}

// Peek returns the counts of key and changes nothing, not even which window is the current one.
func (r *Rate) Peek(key uint64, now time.Duration) Window {
	number, past := r.windows.at(now)
	w := Window{Interval: r.windows.interval}
	w.Fraction = float64(past%w.Interval) / float64(w.Interval)
	switch {
	case past < w.Interval:
		w.Previous, w.Current = r.cells.get(number-1, key), r.cells.get(number, key)
	case past-w.Interval < w.Interval:
		w.Previous = r.cells.get(number, key)
	}
	return w
}

// roll returns the number of the window of now, which it begins if nobody has.
func (r *Rate) roll(now time.Duration) uint64 {
	for {
		number, began := r.windows.step(now)
		if !began {
			return number
		}
		r.cells.renew(number)
	}
}

// Proportional returns a rate per second over the last Interval, as if what the window before counted
// had been spread evenly over it.
func Proportional(w Window) float64 {
	return (float64(w.Previous)*(1-w.Fraction) + float64(w.Current)) / w.Interval.Seconds()
}

// completed is the rate per second of the window before.
func completed(w Window) float64 { return float64(w.Previous) / w.Interval.Seconds() }

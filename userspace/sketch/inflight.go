package sketch

import (
	"sync/atomic"
)

// Inflight estimates how much of each key is under way, with the error that the package states.
// All methods, those of its Guards included, may be called at the same time and take no lock.
type Inflight struct {
	estimator *Estimator
}

// NewInflight returns an Inflight with nothing under way. Slots is 8192 if o has none. It fails if o
// is out of range.
func NewInflight(o EstimatorOptions) (*Inflight, error) {
	e, err := NewEstimator(o)
	if err != nil {
		return nil, err
	}
	return &Inflight{e}, nil
}

// Incr counts n of key as under way until Done of the Guard, and returns the estimate with them.
// It allocates the Guard, unless that does not leave the caller's stack.
func (f *Inflight) Incr(key uint64, n int64) (*Guard, int64) {
	g := &Guard{estimator: f.estimator, key: key, n: n}
	return g, g.Incr()
}

// Get returns the estimate of what is under way of key.
func (f *Inflight) Get(key uint64) int64 { return f.estimator.Get(key) }

// Guard holds what an Incr counted.
type Guard struct {
	estimator *Estimator
	key       uint64
	n         int64
	// held is how many times n is counted, or done. Only Incr and Done change it.
	held atomic.Int64
}

// done is the held of a Guard that holds nothing any more.
const done = -1

// Incr counts the n of the Guard once more, and returns the estimate. After Done it counts nothing.
func (g *Guard) Incr() int64 {
	estimate := g.estimator.Incr(g.key, g.n) // first, so that a Done meanwhile takes nothing that is not there
	for {
		held := g.held.Load()
		if held == done {
			g.estimator.Decr(g.key, g.n)
			return g.Get()
		}
		if g.held.CompareAndSwap(held, held+1) {
			return estimate
		}
	}
}

// Get returns the estimate of the key of the Guard.
func (g *Guard) Get() int64 { return g.estimator.Get(g.key) }

// Done takes back all that the Guard counted. Later calls do nothing.
func (g *Guard) Done() {
	for range max(g.held.Swap(done), 0) {
		g.estimator.Decr(g.key, g.n)
	}
}

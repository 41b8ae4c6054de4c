package sketch

import (
	"math"
	"sync/atomic"
)

// estimatorSlots is pingora's, for an Inflight: 256 KiB with four rows.
const estimatorSlots = 8192

// Estimator counts keys in a count-min sketch, with the error that the package states. All methods
// may be called at the same time and take no lock.
//
// Counts stop at the ends of int64 instead of passing them. Where one did, it is no longer exact.
type Estimator struct {
	rows  rows
	cells []atomic.Int64 // row by row
}

// NewEstimator returns an Estimator that has counted nothing. Slots is 8192 if o has none.
// It fails if o is out of range.
func NewEstimator(o EstimatorOptions) (*Estimator, error) {
	o, err := o.sized(estimatorSlots)
	if err != nil {
		return nil, err
	}
	r := newRows(o)
	return &Estimator{rows: r, cells: make([]atomic.Int64, r.total())}, nil
}

// Incr adds n to the count of key, and returns the estimate with it. Calls at the same time may return
// the same estimate, because they may come in another order in each row: of those who compare it with a
// limit, a few more pass than the limit, less than Hashes times as many as are at it at the same time.
func (e *Estimator) Incr(key uint64, n int64) int64 {
	least := int64(math.MaxInt64)
	for row := range e.rows.hashes {
		least = min(least, add(e.cell(row, key), n))
	}
	return least
}

// Decr takes n from the count of key. The count becomes negative if n is more than was added.
func (e *Estimator) Decr(key uint64, n int64) {
	if n == math.MinInt64 {
		n++ // has no opposite
	}
	e.Incr(key, -n)
}

// Get returns the estimate of key: not below 0 unless more was taken from some key than was added.
func (e *Estimator) Get(key uint64) int64 {
	least := int64(math.MaxInt64)
	for row := range e.rows.hashes {
		least = min(least, e.cell(row, key).Load())
	}
	return least
}

// Reset sets all counts to 0, one after the other: of what is added meanwhile, a part may be lost.
func (e *Estimator) Reset() {
	for i := range e.cells {
		e.cells[i].Store(0)
	}
}

func (e *Estimator) cell(row int, key uint64) *atomic.Int64 { return &e.cells[e.rows.slot(row, key)] }

// add adds n to the cell and returns the sum. It is no plain addition because that cannot stop at
// the end: who found out that it passed it would come too late for others that read it.
func add(cell *atomic.Int64, n int64) int64 {
	for {
		old := cell.Load()
		sum := saturated(old, n)
		if cell.CompareAndSwap(old, sum) {
			return sum
		}
	}
}

// saturated returns a + b, or the end of int64 that it passes.
func saturated(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

package sketch_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/sketch"
)

func TestEstimatorInParallelCountsAll(t *testing.T) {
	const each, workers, rows = 20_000, 8, 4
	e := newEstimator(t, rows, 1024, 1)
	admitted := atomic.Int64{}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range each {
				if e.Incr(1, 1) <= 1000 {
					admitted.Add(1)
				}
				e.Incr(2, 3)
				e.Decr(2, 3)
			}
		})
	}
	all.Wait()
	// Calls that overtake each other from row to row may both find that they are the thousandth.
	const overtaken = (rows - 1) * (workers - 1)
	if n := admitted.Load(); e.Get(1) != each*workers || e.Get(2) != 0 || n < 1000 || n > 1000+overtaken {
		t.Errorf("counts %d and %d, %d admitted of 1000", e.Get(1), e.Get(2), admitted.Load())
	}
}

// Nothing is lost or counted twice while windows begin: what all observed is what all windows hold, where
// goroutines disagree about the time by up to a window, from the first instant on and below a millisecond.
func TestRateInParallelLosesNothing(t *testing.T) {
	const rounds, workers = 400, 8
	for _, interval := range []time.Duration{time.Second, 100 * time.Microsecond, 4} {
		for _, aligned := range []bool{false, true} {
			r := newRate(t, sketch.RateOptions{Interval: interval, Aligned: aligned})
			for round := range time.Duration(rounds) {
				start := 4 * round * interval
				r.Rate(1, start) // forgets both windows of the round before
				var all sync.WaitGroup
				for worker := range time.Duration(workers) {
					all.Go(func() {
						for i := range time.Duration(25) {
							now := start + (i*7+worker*3)%16*interval/8 // below start + 2 intervals
							r.Observe(1, 1, now)
							r.Rate(1, now-interval/2)
							r.Peek(1, now+interval/2)
						}
					})
				}
				all.Wait()
				if w := r.Peek(1, start+interval); w.Previous+w.Current != workers*25 {
					t.Fatalf("%s, aligned %v, round %d: %+v, want %d in all", interval, aligned, round, w, workers*25)
				}
			}
		}
	}
}

// Many goroutines begin each window at the same time, once.
func TestRateBeginsEachWindowOnce(t *testing.T) {
	const workers, windows = 8, 2000
	r := newRate(t, perSecond(true))
	var all sync.WaitGroup
	line := make([]sync.WaitGroup, windows)
	for i := range line {
		line[i].Add(workers)
	}
	for range workers {
		all.Go(func() {
			for i := range line {
				line[i].Done()
				line[i].Wait()
				now := time.Duration(i) * time.Second
				r.Observe(1, 1, now)
				if got := r.Rate(1, now); i > 0 && got != workers {
					t.Errorf("window %d: the one before has %v, want %d", i, got, workers)
				}
			}
		})
	}
	all.Wait()
}

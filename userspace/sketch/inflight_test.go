package sketch_test

import (
	"sync"
	"testing"

	"github.com/headgate/headgate/userspace/sketch"
)

func newInflight(t testing.TB) *sketch.Inflight {
	t.Helper()
	f, err := sketch.NewInflight(sketch.EstimatorOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The test of pingora-limits 0.8.0.
func TestInflightVectors(t *testing.T) {
	f := newInflight(t)
	g1, n := f.Incr('a', 1)
	if n != 1 {
		t.Errorf("first: %d, want 1", n)
	}
	g2, n := f.Incr('a', 2)
	if n != 3 {
		t.Errorf("second: %d, want 3", n)
	}
	g1.Done()
	if n := g2.Get(); n != 2 {
		t.Errorf("after the first is done: %d, want 2", n)
	}
	g2.Done()
	if _, n := f.Incr('a', 1); n != 1 {
		t.Errorf("after both are done: %d, want 1", n)
	}
}

// pingora's Guard takes back once what its incr added twice.
func TestGuardReleasesAllItCountedOnce(t *testing.T) {
	f := newInflight(t)
	g, _ := f.Incr(1, 5)
	if n := g.Incr(); n != 10 {
		t.Errorf("again: %d, want 10", n)
	}
	other, _ := f.Incr(1, 3)
	for range 2 {
		g.Done()
		if n := f.Get(1); n != 3 {
			t.Errorf("done: %d, want 3", n)
		}
	}
	if n := g.Incr(); n != 3 {
		t.Errorf("incr after done: %d, want 3", n)
	}
	if other.Done(); f.Get(1) != 0 {
		t.Errorf("all done: %d, want 0", f.Get(1))
	}
}

func TestZeroGuardHoldsNothing(t *testing.T) {
	var g sketch.Guard
	g.Done()
}

// Whoever calls Incr and Done, and in whatever order, nothing remains and nothing becomes negative.
func TestGuardReleasesOnceInParallel(t *testing.T) {
	f := newInflight(t)
	for range 200 {
		g, _ := f.Incr(1, 1)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if i%2 == 0 {
					g.Incr()
				} else {
					g.Done()
				}
				if n := g.Get(); n < 0 {
					t.Errorf("%d are under way", n)
				}
			})
		}
		all.Wait()
		if n := f.Get(1); n != 0 {
			t.Fatalf("%d remain", n)
		}
	}
}

func TestGuardOnTheStackIsNoAllocation(t *testing.T) {
	f := newInflight(t)
	if n := testing.AllocsPerRun(100, func() {
		g, _ := f.Incr(1, 1)
		defer g.Done()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

package resty_test

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestCountVectors(t *testing.T) {
	c := newCount(t, 10, 100*second)
	for n := range int64(10) {
		incoming(t, c, "uri", 0, remaining(9-n))
	}
	incoming(t, c, "uri", 0, rejected())
	incoming(t, c, "uri", 0, rejected())

	c = newCount(t, 1, 10*second)
	for _, key := range []string{"foo", "bar"} {
		incoming(t, c, key, 0, remaining(0))
		incoming(t, c, key, 0, rejected())
	}

	c = newCount(t, 1, second)
	for i := range time.Duration(2) {
		incoming(t, c, "uri", i*second, remaining(0))
		incoming(t, c, "uri", i*second, rejected())
	}
}

func TestCountPeeks(t *testing.T) {
	c := newCount(t, 5, 10*second)
	for i, want := range []int64{4, 3, 2, 2} {
		checkIncoming(t, c, "foo", i < 2, 0, remaining(want))
	}
}

func TestCountUncommit(t *testing.T) {
	c := newCount(t, 2, 10*second)
	for range 3 {
		incoming(t, c, "foo", 0, remaining(1))
		uncommit(t, c, "foo", 0, remaining(2))
	}
	uncommit(t, c, "foo", 0, remaining(2)) // the original would go on to 3
	uncommit(t, c, "foo", 10*second, remaining(2))
	incoming(t, c, "foo", 10*second, remaining(1))
}

// A window begins with the first request, lasts to its end and not a ns longer, and begins again with the next.
func TestCountWindow(t *testing.T) {
	c := newCount(t, 1, second)
	incoming(t, c, "a", 300*ms, remaining(0))
	incoming(t, c, "a", 1300*ms-1, rejected())
	incoming(t, c, "a", 1300*ms, remaining(0))
	incoming(t, c, "a", 2200*ms, rejected())
	checkIncoming(t, c, "a", false, 2299*ms, rejected())
	checkIncoming(t, c, "a", false, 2300*ms, remaining(0))
	incoming(t, c, "a", 5*second, remaining(0))
	incoming(t, c, "a", 5999*ms, rejected())
}

// As in the original, what is rejected counts too.
func TestCountCountsBelowZero(t *testing.T) {
	c := newCount(t, 1, second)
	incoming(t, c, "a", 0, remaining(0))
	incoming(t, c, "a", 0, rejected())
	incoming(t, c, "a", 0, rejected())
	checkIncoming(t, c, "a", false, 0, rejected())
	for _, want := range []int64{-1, 0, 1} {
		uncommit(t, c, "a", 0, remaining(want))
	}
	incoming(t, c, "a", 0, remaining(0))
}

func TestCountSettersTouchNoRunningWindow(t *testing.T) {
	c := newCount(t, 2, second)
	incoming(t, c, "a", 0, remaining(1))
	if err := errors.Join(c.SetLimit(5), c.SetWindow(2*second)); err != nil {
		t.Fatal(err)
	}
	incoming(t, c, "a", 999*ms, remaining(0))
	incoming(t, c, "a", 999*ms, rejected())
	incoming(t, c, "a", second, remaining(4))
	incoming(t, c, "a", 2999*ms, remaining(3))
	incoming(t, c, "a", 3*second, remaining(4))
	if err := c.SetLimit(1); err != nil {
		t.Fatal(err)
	}
	uncommit(t, c, "a", 3*second, remaining(4)) // more than the new limit, and not more than it was
}

func TestCountExtremes(t *testing.T) {
	c := newCount(t, math.MaxInt64, math.MaxInt64)
	incoming(t, c, "a", math.MaxInt64-1, remaining(math.MaxInt64-1))
	incoming(t, c, "a", math.MaxInt64-1, remaining(math.MaxInt64-2))
	incoming(t, c, "b", math.MinInt64, remaining(math.MaxInt64-1))
	incoming(t, c, "b", 0, remaining(math.MaxInt64-1)) // -2^63 and the window is -1: over
}

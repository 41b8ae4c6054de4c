package resty_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/limit/resty"
)

const second = time.Second

func TestConnVectors(t *testing.T) {
	c := newConn(t, 2, 8, second)
	for i := range int64(10) {
		incoming(t, c, "foo", 0, conn(time.Duration(i/2)*second, i+1))
	}
	incoming(t, c, "foo", 0, rejected())
	incoming(t, c, "foo", 0, rejected())
}

func TestConnPeeks(t *testing.T) {
	c := newConn(t, 2, 8, second)
	for i, want := range []int64{1, 1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 3} {
		checkIncoming(t, c, "foo", i+1 == 3 || i+1 == 5, 0, conn(time.Duration(want/3)*second, want))
	}
}

func TestConnLeaving(t *testing.T) {
	c := newConn(t, 2, 8, second)
	delays := []time.Duration{0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4}
	for i, want := range []int64{1, 2, 3, 4, 4, 5, 6, 6, 7, 8, 9, 10} {
		incoming(t, c, "foo", 0, conn(delays[i]*second, want))
		if i+1 == 4 || i+1 == 7 {
			if got, err := c.Leaving("foo"); got != conn(0, want-1) || err != nil {
				t.Errorf("leaving after %d: %+v, %v", i+1, got, err)
			}
		}
	}
}

func TestConnUncommit(t *testing.T) {
	c := newConn(t, 2, 8, second)
	for range 3 {
		incoming(t, c, "foo", 0, conn(0, 1))
		uncommit(t, c, "foo", 0, conn(0, 0))
	}
}

func TestConnSetters(t *testing.T) {
	c := newConn(t, 2, 1, second)
	for i, want := range []resty.Result{
		conn(0, 1), conn(0, 2), conn(second, 3), rejected(),
		conn(0, 4), conn(0, 5), conn(second, 6), conn(second, 7), rejected(), rejected(),
	} {
		incoming(t, c, "foo", 0, want)
		if i+1 == 4 {
			if err := errors.Join(c.SetConn(5), c.SetBurst(2)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The delay becomes the mean of what it was and of what the last request took.
func TestConnLearnsTheDelay(t *testing.T) {
	c := newConn(t, 1, 10, second)
	incoming(t, c, "a", 0, conn(0, 1))
	for _, step := range []struct{ latency, want time.Duration }{
		{3 * second, 2 * second}, {0, second}, {-5 * second, 500 * ms}, {500 * ms, 500 * ms},
	} {
		incoming(t, c, "other", 0, conn(0, 1))
		if _, err := c.LeavingAfter("other", step.latency); err != nil {
			t.Fatal(err)
		}
		checkIncoming(t, c, "a", false, 0, conn(step.want, 2))
	}
	if _, err := c.LeavingAfter("nobody", 9*second); !errors.Is(err, resty.ErrNotFound) {
		t.Errorf("leaving without incoming: %v", err)
	}
	checkIncoming(t, c, "a", false, 0, conn(500*ms, 2)) // and nothing was learnt
}

// The original counts on below 0, and lets more pass later.
func TestConnLeavesOnce(t *testing.T) {
	c := newConn(t, 1, 0, second)
	incoming(t, c, "a", 0, conn(0, 1))
	if _, err := c.Leaving("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Leaving("a"); !errors.Is(err, resty.ErrNotFound) {
		t.Errorf("leaving twice: %v", err)
	}
	incoming(t, c, "a", 0, conn(0, 1))
	incoming(t, c, "a", 0, rejected())
}

func TestConnExtremes(t *testing.T) {
	c := newConn(t, 1, math.MaxInt64, math.MaxInt64)
	incoming(t, c, "a", 0, conn(0, 1))
	incoming(t, c, "a", 0, conn(math.MaxInt64, 2))
	incoming(t, c, "a", 0, conn(math.MaxInt64, 3))
}

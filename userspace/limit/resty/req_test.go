package resty_test

import (
	"math"
	"testing"
	"time"
)

// Who waits as long as told sends 80 requests at 40 a second in 1.96 to 1.99 seconds.
func TestReqPacesWhoWaits(t *testing.T) {
	r := newReq(t, 40, 40)
	now := time.Duration(0)
	for range 80 {
		result := r.Incoming("uri", true, now)
		if result.Rejected {
			t.Fatalf("rejected at %s", now)
		}
		now += result.Delay
	}
	if now != 79*25*ms {
		t.Errorf("took %s, want 1.975s", now)
	}
}

func TestReqVectors(t *testing.T) {
	r := newReq(t, 2, 10)
	incoming(t, r, "foo", 0, excess(0, 0))
	incoming(t, r, "foo", 0, excess(500*ms, 1))
	incoming(t, r, "bar", 0, excess(0, 0))
	incoming(t, r, "bar", 0, excess(500*ms, 1))

	r = newReq(t, 2, 10)
	for i, want := range []float64{0, .5, 1, 1} {
		checkIncoming(t, r, "bar", i < 2, 0, excess(time.Duration(want*1e9), 2*want))
	}
}

func TestReqBurst(t *testing.T) {
	r := newReq(t, 2, 0)
	for burst, key := range []string{"none", "one", "two"} {
		if err := r.SetBurst(float64(burst)); err != nil {
			t.Fatal(err)
		}
		for i := range burst + 1 {
			incoming(t, r, key, 0, excess(time.Duration(i)*500*ms, float64(i)))
		}
		incoming(t, r, key, 0, rejected())
	}
}

func TestReqUncommit(t *testing.T) {
	r := newReq(t, 40, 40)
	for i, want := range []time.Duration{0, 25 * ms, 25 * ms, 25 * ms, 25 * ms} {
		incoming(t, r, "uri", 0, excess(want, float64(min(i, 1))))
		uncommit(t, r, "uri", 0, excess(0, 0))
	}
}

// Below one a second: the first request passes all the same.
func TestReqLowRate(t *testing.T) {
	r := newReq(t, .1, .1)
	incoming(t, r, "a", 0, excess(0, 0))
	incoming(t, r, "a", 0, rejected())
	incoming(t, r, "a", 8999*ms, rejected())
	incoming(t, r, "a", 9*time.Second, excess(time.Second, .1))
}

func TestReqSetRate(t *testing.T) {
	r := newReq(t, 1, 10)
	incoming(t, r, "a", 0, excess(0, 0))
	incoming(t, r, "a", 0, excess(time.Second, 1))
	if err := r.SetRate(4); err != nil {
		t.Fatal(err)
	}
	incoming(t, r, "a", 0, excess(500*ms, 2))
	incoming(t, r, "a", 500*ms, excess(250*ms, 1))
}

// What is kept is cut to thousandths of a request and to milliseconds, what is returned is not.
func TestReqCutsWhatItKeeps(t *testing.T) {
	r := newReq(t, .3, 10)
	incoming(t, r, "a", 1999999, excess(0, 0))                                 // kept as at 1 ms
	incoming(t, r, "a", 8*ms+999999, excess(seconds(997.9/300), .9979))        // 1000 - 300*7/1000; kept as 997
	incoming(t, r, "a", 8*ms, excess(seconds(1997./300), 1.997))               // and at 8 ms
	incoming(t, r, "a", 7*ms, excess(seconds(2996.7/300), 2.9966999999999997)) // a clock that goes back is one that goes on
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

// The time between requests counts without its sign.
func TestReqClockBack(t *testing.T) {
	r := newReq(t, 2, 1)
	incoming(t, r, "a", time.Hour, excess(0, 0))
	incoming(t, r, "a", time.Hour, excess(500*ms, 1))
	incoming(t, r, "a", time.Hour, rejected())
	incoming(t, r, "a", time.Hour-500*ms, excess(500*ms, 1))
	incoming(t, r, "a", -time.Hour, excess(0, 0))
	incoming(t, r, "a", math.MinInt64, excess(0, 0))
	incoming(t, r, "a", math.MaxInt64, excess(0, 0))
}

// Whatever the rate and the time, delays are times that exist.
func TestReqExtremes(t *testing.T) {
	r := newReq(t, math.SmallestNonzeroFloat64, 1e12)
	incoming(t, r, "a", 0, excess(0, 0))
	incoming(t, r, "a", 0, excess(math.MaxInt64, 1))
	uncommit(t, r, "a", 0, excess(0, 0))

	r = newReq(t, 1e12, 1e12)
	incoming(t, r, "a", math.MinInt64, excess(0, 0))
	incoming(t, r, "a", math.MinInt64, excess(0, 1))
	incoming(t, r, "a", math.MinInt64+1, excess(0, 2))
}

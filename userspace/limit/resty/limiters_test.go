package resty_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/limit/resty"
)

const ms = time.Millisecond

func newReq(t testing.TB, rate, burst float64) *resty.Req {
	return must[*resty.Req](t)(resty.NewReq(rate, burst, resty.Options{}))
}

func newConn(t testing.TB, most, burst int64, delay time.Duration) *resty.Conn {
	return must[*resty.Conn](t)(resty.NewConn(most, burst, delay, resty.Options{}))
}

func newCount(t testing.TB, limit int64, window time.Duration) *resty.Count {
	return must[*resty.Count](t)(resty.NewCount(limit, window, resty.Options{}))
}

func must[L any](t testing.TB) func(L, error) L {
	return func(l L, err error) L {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}

// incoming checks what a committed request gets.
func incoming(t *testing.T, l resty.Limiter, key string, now time.Duration, want resty.Result) {
	t.Helper()
	checkIncoming(t, l, key, true, now, want)
}

func checkIncoming(t *testing.T, l resty.Limiter, key string, commit bool, now time.Duration, want resty.Result) {
	t.Helper()
	if got := l.Incoming(key, commit, now); got != want {
		t.Errorf("Incoming(%s, %v, %s) = %+v, want %+v", key, commit, now, got, want)
	}
}

// uncommit checks what is left after one request is taken back.
func uncommit(t *testing.T, l resty.Limiter, key string, now time.Duration, want resty.Result) {
	t.Helper()
	if got, err := l.Uncommit(key, now); got != want || err != nil {
		t.Errorf("Uncommit(%s) = %+v, %v; want %+v", key, got, err, want)
	}
}

func rejected() resty.Result { return resty.Result{Rejected: true} }

func excess(delay time.Duration, excess float64) resty.Result {
	return resty.Result{Delay: delay, Excess: excess}
}

func conn(delay time.Duration, conn int64) resty.Result {
	return resty.Result{Delay: delay, Conn: conn}
}

func remaining(n int64) resty.Result { return resty.Result{Remaining: n} }

func TestOptionsAreChecked(t *testing.T) {
	req := func(rate, burst float64) func(resty.Options) error {
		return func(o resty.Options) error { _, err := resty.NewReq(rate, burst, o); return err }
	}
	conn := func(most, burst int64, delay time.Duration) func(resty.Options) error {
		return func(o resty.Options) error { _, err := resty.NewConn(most, burst, delay, o); return err }
	}
	count := func(limit int64, window time.Duration) func(resty.Options) error {
		return func(o resty.Options) error { _, err := resty.NewCount(limit, window, o); return err }
	}
	for _, test := range []struct {
		make    func(resty.Options) error
		maxKeys int
		want    string
	}{
		{req(0.1, 0), 1, ""},
		{req(0, 1), 0, "resty: rate 0; use more than 0, at most 1e+12 requests per second"},
		{req(math.NaN(), 1), 0, "resty: rate NaN; use more than 0, at most 1e+12 requests per second"},
		{req(math.Inf(1), 1), 0, "resty: rate +Inf; use more than 0, at most 1e+12 requests per second"},
		{req(1, -1), 0, "resty: burst -1; use 0 to 1e+12 requests"},
		{req(1, math.NaN()), 0, "resty: burst NaN; use 0 to 1e+12 requests"},
		{req(1, 1), -1, "resty: max keys -1; use 1 to 1073741824"},
		{conn(1, 0, 1), 1, ""},
		{conn(0, 0, 1), 0, "resty: 0 connections; use at least 1"},
		{conn(1, -1, 1), 0, "resty: burst -1; use at least 0"},
		{conn(1, 0, 0), 0, "resty: connection delay 0s; use at least 1ns"},
		{conn(1, 0, 1), 1<<30 + 1, "resty: max keys 1073741825; use 1 to 1073741824"},
		{count(1, 1), 1, ""},
		{count(0, 1), 0, "resty: limit 0; use at least 1"},
		{count(1, 0), 0, "resty: window 0s; use at least 1ns"},
		{count(1, 1), -5, "resty: max keys -5; use 1 to 1073741824"},
	} {
		err := test.make(resty.Options{MaxKeys: test.maxKeys})
		if got := text(err); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestSettersFailWithoutChange(t *testing.T) {
	r, c, n := newReq(t, 2, 0), newConn(t, 1, 0, 1), newCount(t, 1, time.Second)
	for _, err := range []error{r.SetRate(0), r.SetBurst(-1), c.SetConn(0), c.SetBurst(-1), n.SetLimit(0), n.SetWindow(0)} {
		if err == nil {
			t.Error("no error")
		}
	}
	for _, l := range []resty.Limiter{r, c, n} {
		if l.Incoming("a", true, 0).Rejected || !l.Incoming("a", true, 0).Rejected {
			t.Errorf("%T: not exactly one passes", l)
		}
	}
}

// What was never charged cannot be given back.
func TestUncommitOfUnknownKeys(t *testing.T) {
	for _, l := range []resty.Limiter{newReq(t, 2, 0), newConn(t, 1, 0, 1)} {
		if got, err := l.Uncommit("a", 0); !errors.Is(err, resty.ErrNotFound) || got != (resty.Result{}) {
			t.Errorf("%T: %+v, %v", l, got, err)
		}
	}
	uncommit(t, newCount(t, 7, time.Second), "a", 0, remaining(7))
}

func TestKnownKeysDoNotAllocate(t *testing.T) {
	r, c, n := newReq(t, 1e6, 1e6), newConn(t, 10, 0, 1), newCount(t, 1e9, time.Hour)
	charges := []resty.Charge{{Limiter: n, Key: "a"}, {Limiter: r, Key: "a"}, {Limiter: c, Key: "a"}}
	c.Incoming("a", true, 0)
	for name, f := range map[string]func(){
		"req":     func() { r.Incoming("a", true, 0) },
		"conn":    func() { c.Incoming("a", true, 0); _, _ = c.Leaving("a") },
		"count":   func() { n.Incoming("a", true, 0) },
		"combine": func() { resty.Combine(charges, 0); _, _ = c.Leaving("a") },
	} {
		if allocations := testing.AllocsPerRun(100, f); allocations != 0 {
			t.Errorf("%s: %v allocations", name, allocations)
		}
	}
}

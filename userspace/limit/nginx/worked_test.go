package nginx_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/limit/nginx"
)

// arrival is a request and what must become of it.
type arrival struct {
	at     int64 // ms
	ok     bool
	excess uint64 // milli-requests
}

func (a arrival) String() string {
	return fmt.Sprintf("%d ms: allowed %v, excess %d", a.at, a.ok, a.excess)
}

func at(ms int64, excess uint64) arrival   { return arrival{ms, true, excess} }
func busy(ms int64, excess uint64) arrival { return arrival{ms, false, excess} }

// TestWorked is the table of worked examples of limit_req, each from a key that is new.
func TestWorked(t *testing.T) {
	tests := []struct {
		name     string
		rate     string
		burst    uint64
		arrivals []arrival
	}{
		{"a burst is the requests beyond the first", "2r/s", 1, []arrival{
			at(0, 0), at(0, 1000), busy(0, 2000), busy(499, 1002), at(500, 1000), busy(501, 1998), at(1000, 1000)}},
		{"1r/m is one in 62.5 s", "1r/m", 0, []arrival{
			at(0, 0), busy(60000, 40), busy(62499, 1), at(62500, 0), at(125000, 0)}},
		{"7r/m is 0.116r/s", "7r/m", 0, []arrival{at(0, 0), busy(8571, 6), busy(8620, 1), at(8621, 0)}},
		{"case 31: 3000r/s without burst is 1000r/s", "3000r/s", 0, []arrival{
			at(0, 0), busy(0, 1000), at(1, 0), busy(1, 1000), at(2, 0)}},
		{"case 31: 3000r/s with a burst of 2 is 3000r/s", "3000r/s", 2, []arrival{
			at(0, 0), at(0, 1000), at(0, 2000), busy(0, 3000), at(1, 0), at(1, 1000), at(1, 2000), busy(1, 3000)}},
		{"the capacity is burst+1, whatever the rate", "10r/s", 5, []arrival{
			at(0, 0), at(0, 1000), at(0, 2000), at(0, 3000), at(0, 4000), at(0, 5000), busy(0, 6000),
			at(100, 5000), busy(100, 6000), at(200, 5000), at(350, 4500)}},
		{"what is refused costs nothing", "1r/s", 0, []arrival{
			at(0, 0), busy(999, 1), at(1000, 0), busy(1999, 1), at(2000, 0)}},
		{"a clock that goes back", "1r/s", 1, []arrival{
			at(100000, 0), at(99000, 1000), busy(99000, 2000), busy(39999, 1999), busy(40998, 2000), busy(41000, 2000)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newZone(t, test.rate, nginx.Options[string]{}).Limiter(test.burst, test.burst)
			for i, want := range test.arrivals {
				peek := l.Peek("k", 1, ms(want.at))
				r := l.Take("k", 1, ms(want.at))
				if got := (arrival{want.at, r.Allowed, r.Excess}); got != want {
					t.Fatalf("request %d: got %v, want %v", i+1, got, want)
				}
				if withoutUndo(r) != withoutUndo(peek) {
					t.Fatalf("request %d: Peek said %+v, Take %+v", i+1, peek, r)
				}
			}
		})
	}
}

// TestCase33Delays: what is delayed leaves one by one, at the rate.
func TestCase33Delays(t *testing.T) {
	tests := []struct {
		name         string
		rate         string
		burst, delay uint64
		want         []int64 // ms, of requests at one instant; the next is refused
	}{
		{"delay", "1r/s", 5, 0, []int64{0, 1000, 2000, 3000, 4000, 5000}},
		{"delay=2", "1r/s", 5, 2, []int64{0, 0, 0, 1000, 2000, 3000}},
		{"nodelay", "1r/s", 5, 5, []int64{0, 0, 0, 0, 0, 0}},
		{"cut off to milliseconds", "3r/s", 3, 0, []int64{0, 333, 666, 1000}},
		{"one every 100 ms", "10r/s", 3, 0, []int64{0, 100, 200, 300}},
		{"1r/m", "1r/m", 2, 0, []int64{0, 62500, 125000}},
		{"delay beyond the burst is nodelay", "1r/s", 2, 99, []int64{0, 0, 0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newZone(t, test.rate, nginx.Options[string]{}).Limiter(test.burst, test.delay)
			for i, want := range test.want {
				if r := l.Take("k", 1, 0); !r.Allowed || r.Delay != ms(want) {
					t.Errorf("request %d: allowed %v, delay %v; want %v", i+1, r.Allowed, r.Delay, ms(want))
				}
			}
			if r := l.Take("k", 1, 0); r.Allowed || r.Delay != 0 {
				t.Errorf("one more: allowed %v, delay %v", r.Allowed, r.Delay)
			}
		})
	}
}

// TestCase31Milliseconds: no rate lets more than burst+1 pass in a millisecond.
func TestCase31Milliseconds(t *testing.T) {
	for burst, want := range map[uint64]int{0: 1000, 1: 2000, 2: 3000, 9: 3007} {
		l := newZone(t, "3000r/s", nginx.Options[string]{}).Limiter(burst, burst)
		admitted := 0
		for now := range int64(1000) {
			for l.Take("k", 1, ms(now)).Allowed {
				admitted++
			}
		}
		if admitted != want {
			t.Errorf("burst %d: %d in a second, want %d", burst, admitted, want)
		}
	}
}

// TestBurstOfRate: a burst of the rate admits twice the rate in the first second.
func TestBurstOfRate(t *testing.T) {
	l := newZone(t, "10r/s", nginx.Options[string]{}).Limiter(10, 10)
	admitted := 0
	for now := range int64(1001) {
		for l.Take("k", 1, ms(now)).Allowed {
			admitted++
		}
	}
	if admitted != 21 {
		t.Errorf("%d admitted in a second, want 21: one, the burst of 10, and 10 by the rate", admitted)
	}
}

// TestSubMilliseconds: within a millisecond no time passes, also before time 0.
func TestSubMilliseconds(t *testing.T) {
	for _, start := range []time.Duration{0, time.Hour, -time.Hour} {
		l := newZone(t, "1000r/s", nginx.Options[string]{}).Limiter(0, 0)
		first := l.Take("k", 1, start)
		late := l.Take("k", 1, start+time.Millisecond-1)
		next := l.Take("k", 1, start+time.Millisecond)
		if !first.Allowed || late.Allowed || !next.Allowed {
			t.Errorf("from %v: %v, %v, %v; want true, false, true", start, first.Allowed, late.Allowed, next.Allowed)
		}
		if late.RetryAfter != 1 {
			t.Errorf("from %v: retry after %v, want 1ns", start, late.RetryAfter)
		}
	}
}

package rate_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/rate"
	"pgregory.net/rapid"
)

func TestFromInterval(t *testing.T) {
	tests := []struct {
		in, want rate.Rate
	}{
		{packets(1, 400*time.Nanosecond), packets(2_500_000, time.Second)},
		{packets(3, 2*time.Minute), packets(90, time.Hour)},
		{packets(7200, time.Hour), packets(2, time.Second)},
		{packets(120, 2*time.Hour), packets(1, time.Minute)},
		{bytes(2, 16*time.Millisecond), bytes(125, time.Second)},
		{bytes(1, 640*time.Millisecond), bytes(5625, time.Hour)},
		{requests(20, 20*time.Second), requests(1, time.Second)},
	}
	for _, tt := range tests {
		got, err := rate.FromInterval(tt.in.Count, tt.in.Per, tt.in.Unit)
		if got != tt.want || (err != nil) != tt.want.IsZero() {
			t.Errorf("FromInterval(%#v) = %#v, %v; want %#v", tt.in, got, err, tt.want)
		}
	}
}

func TestFromIntervalErrors(t *testing.T) {
	tests := []struct {
		in   rate.Rate
		want string
	}{
		{packets(0, 0), "rate of 0 packets per 0s: a rate of 0 would let nothing pass"},
		{bytes(0, time.Second), "rate of 0 bytes per 1s: a rate of 0 would let nothing pass"},
		{packets(5, 0), "rate of 5 packets per 0s: the interval must be longer than 0"},
		{packets(5, -time.Second), "rate of 5 packets per -1s: the interval must be longer than 0"},
		{packets(1, 7*time.Second), "rate of 1 packets per 7s: no finite decimal can write it; use a rounder rate"},
		{bytes(61, time.Minute), "rate of 61 bytes per 1m0s: no finite decimal can write it; use a rounder rate"},
		{packets(1, 2*time.Hour), "rate of 1 packets per 2h0m0s: too low; use 1pph to 100Mpps"},
		{bytes(1, time.Minute), "rate of 1 bytes per 1m0s: too low; use 1B/s to 400Gbit/s"},
		{requests(1, time.Nanosecond), "rate of 1 requests per 1ns: too high; use 1r/h to 100000000r/s"},
		{rate.Rate{Count: 1, Per: 1, Unit: 9}, "rate of 1 unit 9 per 1ns: unknown unit 9; use packets, bytes or requests"},
	}
	for _, tt := range tests {
		got, err := rate.FromInterval(tt.in.Count, tt.in.Per, tt.in.Unit)
		if err == nil || err.Error() != tt.want || !got.IsZero() {
			t.Errorf("FromInterval(%#v) = %v, %v\nwant error %s", tt.in, got, err, tt.want)
		}
		if errors.Is(err, rate.ErrZero) != (tt.in.Count == 0) {
			t.Errorf("FromInterval(%#v): errors.Is(%v, ErrZero) is wrong", tt.in, err)
		}
	}
}

func TestStringOfUncheckedRates(t *testing.T) {
	tests := []struct {
		in   rate.Rate
		want string
	}{
		{rate.Rate{}, "none"},
		{rate.Rate{Unit: rate.Bytes}, "none"},
		{packets(1, 7*time.Second), "1 packets per 7s"},
		{bytes(1, 3*time.Second), "1 bytes per 3s"},
		{packets(10, -1), "10 packets per -1ns"},
		{rate.Rate{Count: 1, Per: time.Second, Unit: 9}, "1 unit 9 per 1s"},
		{packets(20, 2*time.Second), "10pps"},
		{packets(math.MaxUint64, 1), "18446744073709551615Gpps"},
	}
	for _, tt := range tests {
		if got := tt.in.String(); got != tt.want {
			t.Errorf("%#v prints %q, want %q", tt.in, got, tt.want)
		}
	}
}

// notations are the suffixes that each parser documents.
func notations() map[string]struct {
	parse parser
	units []string
} {
	return map[string]struct {
		parse parser
		units []string
	}{
		"packets":   {rate.ParsePackets, strings.Fields("pps kpps Mpps Gpps ppm kppm Mppm pph kpph Mpph")},
		"bandwidth": {rate.ParseBandwidth, strings.Fields("bit/s kbit/s Mbit/s Gbit/s B/s kB/s MB/s GB/s KiB/s MiB/s GiB/s")},
		"requests":  {rate.ParseRequests, strings.Fields("r/s r/m r/h")},
	}
}

func TestPrintedRateParsesBack(t *testing.T) {
	for name, n := range notations() {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			text := decimal(t) + rapid.SampledFrom(n.units).Draw(t, "unit")
			r, err := n.parse(text)
			if err != nil {
				return // out of range, or too many digits
			}
			again, err := n.parse(r.String())
			if err != nil || again != r {
				t.Fatalf("%q prints as %q, which parses to %#v, %v; want %#v", text, r, again, err, r)
			}
			same, err := rate.FromInterval(r.Count, r.Per, r.Unit)
			if err != nil || same != r {
				t.Fatalf("FromInterval of %#v = %#v, %v; want the same", r, same, err)
			}
		}))
	}
}

// decimal draws numbers that are often in range and often not whole.
func decimal(t *rapid.T) string {
	whole := rapid.Uint64Range(0, 1<<rapid.IntRange(0, 40).Draw(t, "bits")).Draw(t, "whole")
	places := rapid.IntRange(0, 9).Draw(t, "places")
	if places == 0 {
		return fmt.Sprint(whole)
	}
	scale := uint64(math.Pow10(places))
	return fmt.Sprintf("%d.%0*d", whole, places, rapid.Uint64Range(0, scale-1).Draw(t, "fraction"))
}

// Rates written in different units must be equal if and only if they are.
func TestEqualRatesCompareEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perMinute := rapid.Uint64Range(1, 1_000_000).Draw(t, "per minute")
		more := rapid.Uint64Range(0, 2).Draw(t, "more per hour")
		a, errA := rate.ParsePackets(fmt.Sprintf("%dppm", perMinute))
		b, errB := rate.ParsePackets(fmt.Sprintf("%dpph", perMinute*60+more))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if (a == b) != (more == 0) {
			t.Fatalf("%#v == %#v is %v", a, b, a == b)
		}
	})
}

package nginx_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/limit/nginx"
)

func TestParseRate(t *testing.T) {
	tests := []struct {
		text   string
		want   nginx.Rate
		prints string
	}{
		{"1r/m", 16, "0.016r/s"},
		{"7r/m", 116, "0.116r/s"},
		{"15r/m", 250, "0.25r/s"},
		{"30r/m", 500, "0.5r/s"},
		{"59r/m", 983, "0.983r/s"},
		{"60r/m", 1000, "1r/s"},
		{"100r/m", 1666, "1.666r/s"},
		{"10r/s", 10_000, "10r/s"},
		{"10", 10_000, "10r/s"},
		{"007r/s", 7_000, "7r/s"},
		{"100000000r/s", nginx.MaxRate, "100000000r/s"},
		{"6000000000r/m", nginx.MaxRate, "100000000r/s"},
	}
	for _, test := range tests {
		got, err := nginx.ParseRate(test.text)
		if err != nil || got != test.want || got.String() != test.prints {
			t.Errorf("%q: %d (%v), %v; want %d (%s)", test.text, got, got, err, test.want, test.prints)
		}
	}
}

func TestParseRateErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", `rate "": nginx takes a whole number of requests a second or minute: 10r/s, 90r/m`},
		{"r/s", "whole number"},
		{"1.5r/s", "whole number"},
		{"-1r/s", "whole number"},
		{"+1r/s", "whole number"},
		{"10R/S", "whole number"},
		{"10r/h", "whole number"},
		{" 10r/s", "whole number"},
		{"0r/s", `rate "0r/s": a rate of 0 would let nothing pass`},
		{"0", "a rate of 0"},
		{"100000001r/s", "more than 100000000r/s"},
		{"6000000001r/m", "more than 100000000r/s"},
		{"99999999999999999999r/s", "more than 100000000r/s"},
	}
	for _, test := range tests {
		_, err := nginx.ParseRate(test.text)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
	if _, err := nginx.ParseRate("0r/m"); !errors.Is(err, nginx.ErrZero) {
		t.Errorf("%v is not ErrZero", err)
	}
	if _, err := nginx.RateOf(100, time.Hour); err == nil || !strings.Contains(err.Error(), "algorithm leaky") {
		t.Errorf("per hour: %v", err)
	}
}

func TestNewZoneErrors(t *testing.T) {
	type options = nginx.Options[string]
	tests := []struct {
		rate nginx.Rate
		o    options
	}{
		{0, options{}}, {nginx.MaxRate + 1, options{}}, {1, options{MaxKeys: -1}}, {1, options{MaxKeys: math.MaxInt}},
	}
	for _, test := range tests {
		test.o.Name = "perip"
		if _, err := nginx.NewZone(test.rate, test.o); err == nil || !strings.HasPrefix(err.Error(), `zone "perip": `) {
			t.Errorf("%d, %+v: %v", test.rate, test.o, err)
		}
	}
}

func TestWarnings(t *testing.T) {
	const cut = "nginx cuts the rate off to 0.016r/s, one request in 1m2.5s instead of 1m0s; algorithm leaky keeps it"
	const fine = "nginx counts whole milliseconds and lets at most burst+1 requests pass in each: "
	tests := []struct {
		name  string
		count uint64
		per   time.Duration
		burst uint64
		want  []string
	}{
		{"usual", 10, time.Second, 0, nil},
		{"1r/m", 1, time.Minute, 0, []string{cut}},
		{"30r/m is whole", 30, time.Minute, 0, nil},
		{"one a millisecond", 1000, time.Second, 0, nil},
		{"case 31", 3000, time.Second, 0, []string{
			fine + "1000r/s with a burst of 0; use a burst of 2 or more, or algorithm leaky"}},
		{"case 31 with room", 3000, time.Second, 2, nil},
		{"a part of a request a millisecond", 3001, time.Second, 2, []string{
			fine + "3000r/s with a burst of 2; use a burst of 3 or more, or algorithm leaky"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rate, err := nginx.RateOf(test.count, test.per)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, rate.Warnings(test.count, test.per, test.burst)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzParseRate: what is read is what integer arithmetic makes of the digits.
func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"1r/m", "10r/s", "10", "r/s", "0", "100000001r/s", "1r/mr/s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := nginx.ParseRate(s)
		if err != nil {
			return
		}
		if r == 0 || r > nginx.MaxRate {
			t.Errorf("%q is %d", s, r)
		}
		if z, err := nginx.NewZone(r, nginx.Options[string]{MaxKeys: 1}); z == nil || err != nil {
			t.Errorf("%q: %v", s, err)
		}
	})
}

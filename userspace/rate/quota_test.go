package rate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/rate"
)

func TestParseQuota(t *testing.T) {
	tests := []struct {
		text  string
		count uint64
		per   time.Duration
	}{
		{"10r/s", 10, time.Second},
		{"60r/m", 60, time.Minute},
		{"120r/m", 120, time.Minute},
		{"30r/m", 30, time.Minute},
		{"1r/h", 1, time.Hour},
		{"3600r/h", 3600, time.Hour},
		{"1.0r/s", 1, time.Second},
		{"007r/m", 7, time.Minute},
		{"100000000r/s", 100_000_000, time.Second},
		{"6000000000r/m", 6_000_000_000, time.Minute},
		{"360000000000r/h", 360_000_000_000, time.Hour},
	}
	for _, tt := range tests {
		count, per, err := rate.ParseQuota(tt.text)
		if err != nil || count != tt.count || per != tt.per {
			t.Errorf("quota %q = %d per %v, %v; want %d per %v", tt.text, count, per, err, tt.count, tt.per)
		}
	}
}

func TestParseQuotaErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", `rate "": does not start with a number; use 10r/s, 30r/m or 100r/h`},
		{"10", `rate "10": no unit; use 10r/s, 30r/m or 100r/h`},
		{"60 r/m", `rate "60 r/m": contains a space, write number and unit together; use 10r/s, 30r/m or 100r/h`},
		{"60r/d", `rate "60r/d": unknown unit "r/d"; use 10r/s, 30r/m or 100r/h`},
		{"-1r/s", `rate "-1r/s": does not start with a number; use 10r/s, 30r/m or 100r/h`},
		{"1.5r/s", `rate "1.5r/s": not a whole number; use 90r/m`},
		{"0.01r/s", `rate "0.01r/s": not a whole number; use 36r/h`},
		{"30.5r/m", `rate "30.5r/m": not a whole number; use 1830r/h`},
		{"1.5r/h", `rate "1.5r/h": not a whole number; use fewer decimals`},
		{"13.4217728r/s", `rate "13.4217728r/s": not a whole number; use fewer decimals`}, // per is 152 s
		{"0.5r/h", `rate "0.5r/h": too low; use 1r/h to 100000000r/s`},
		{"100000001r/s", `rate "100000001r/s": too high; use 1r/h to 100000000r/s`},
		{"360000000001r/h", `rate "360000000001r/h": too high; use 1r/h to 100000000r/s`},
		{"0r/m", `rate "0r/m": a rate of 0 would let nothing pass`},
	}
	for _, tt := range tests {
		count, per, err := rate.ParseQuota(tt.text)
		if err == nil || err.Error() != tt.want || count != 0 || per != 0 {
			t.Errorf("quota %q = %d per %v, %v\nwant error %s", tt.text, count, per, err, tt.want)
		}
		if zero := tt.text == "0r/m"; errors.Is(err, rate.ErrZero) != zero {
			t.Errorf("quota %q: errors.Is(%v, ErrZero) = %v, want %v", tt.text, err, !zero, zero)
		}
	}
}

// FuzzParseQuota has ParseRequests for a witness: both refuse a text in the same
// words, or mean the same rate by it, unless it is a fraction.
func FuzzParseQuota(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		r, wantErr := rate.ParseRequests(text)
		count, per, err := rate.ParseQuota(text)
		switch {
		case wantErr != nil:
			if err == nil || err.Error() != wantErr.Error() {
				t.Errorf("%q: %v, want %v", text, err, wantErr)
			}
		case err != nil:
			if isWhole(text) {
				t.Errorf("%q: %v, but it is whole", text, err)
			}
		default:
			if got, err := rate.FromInterval(count, per, rate.Requests); err != nil || got != r {
				t.Errorf("%q is %d per %v, which is %v, %v; want %v", text, count, per, got, err, r)
			}
			if !isWhole(text) {
				t.Errorf("%q is %d per %v, but it is a fraction", text, count, per)
			}
		}
	})
}

// isWhole reports whether the number at the start of text has no digit but 0
// behind its point.
func isWhole(text string) bool {
	number, _, _ := strings.Cut(text, "r")
	_, fraction, _ := strings.Cut(number, ".")
	return strings.Trim(fraction, "0") == ""
}

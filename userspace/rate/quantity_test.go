package rate_test

import (
	"math"
	"testing"

	"github.com/headgate/headgate/userspace/rate"
	"pgregory.net/rapid"
)

func TestCountsAndSizes(t *testing.T) {
	count, size := rate.ParseCount, rate.ParseSize
	tests := []struct {
		parse  func(string) (uint64, error)
		format func(uint64) string
		text   string
		want   uint64
		print  string
	}{
		{count, rate.FormatCount, "0", 0, "0"},
		{count, rate.FormatCount, "100", 100, "100"},
		{count, rate.FormatCount, "999", 999, "999"},
		{count, rate.FormatCount, "20k", 20_000, "20k"},
		{count, rate.FormatCount, "2.5k", 2500, "2.5k"},
		{count, rate.FormatCount, "1M", 1_000_000, "1M"},
		{count, rate.FormatCount, "2G", 2_000_000_000, "2G"},
		{count, rate.FormatCount, "1000k", 1_000_000, "1M"},
		{count, rate.FormatCount, "1234567", 1_234_567, "1234.567k"},
		{count, rate.FormatCount, "18446744073709551615", math.MaxUint64, "18446744073709551.615k"},
		{size, rate.FormatSize, "0", 0, "0B"},
		{size, rate.FormatSize, "1500", 1500, "1500B"},
		{size, rate.FormatSize, "1500B", 1500, "1500B"},
		{size, rate.FormatSize, "64KiB", 65_536, "64KiB"},
		{size, rate.FormatSize, "1MB", 1_000_000, "1MB"},
		{size, rate.FormatSize, "1.5MB", 1_500_000, "1.5MB"},
		{size, rate.FormatSize, "1GiB", 1 << 30, "1GiB"},
		{size, rate.FormatSize, "1.5KiB", 1536, "1.5KiB"},
		{size, rate.FormatSize, "10kB", 10_000, "10kB"},
		{size, rate.FormatSize, "3GB", 3_000_000_000, "3GB"},
		{size, rate.FormatSize, "2MiB", 2 << 20, "2MiB"},
		{size, rate.FormatSize, "1234", 1234, "1234B"},
	}
	for _, tt := range tests {
		got, err := tt.parse(tt.text)
		if err != nil || got != tt.want {
			t.Errorf("parse %q = %d, %v; want %d", tt.text, got, err, tt.want)
		}
		if print := tt.format(tt.want); print != tt.print {
			t.Errorf("format %d = %q, want %q", tt.want, print, tt.print)
		}
	}
}

func TestCountAndSizeErrors(t *testing.T) {
	tests := []struct {
		parse func(string) (uint64, error)
		text  string
		want  string
	}{
		{rate.ParseCount, "", `count "": does not start with a number; use 100, 2.5k, 20k or 1M`},
		{rate.ParseCount, "-1", `count "-1": does not start with a number; use 100, 2.5k, 20k or 1M`},
		{rate.ParseCount, "2.5", `count "2.5": not a whole number; use fewer decimals`},
		{rate.ParseCount, "20K", `count "20K": unknown unit "K"; use 100, 2.5k, 20k or 1M`},
		{rate.ParseCount, "20 k", `count "20 k": contains a space, write number and unit together; use 100, 2.5k, 20k or 1M`},
		{rate.ParseCount, "18446744073709551616", `count "18446744073709551616": too large; use at most 18446744073709551615`},
		{rate.ParseSize, "1.0001kB", `size "1.0001kB": not a whole number; use fewer decimals`},
		{rate.ParseSize, "1KB", `size "1KB": unknown unit "KB"; use 1500, 1500B, 64KiB or 1.5MB`},
		{rate.ParseSize, "64Ki", `size "64Ki": unknown unit "Ki"; use 1500, 1500B, 64KiB or 1.5MB`},
		{rate.ParseSize, "99999999999GiB", `size "99999999999GiB": too large; use at most 18446744073709551615`},
	}
	for _, tt := range tests {
		got, err := tt.parse(tt.text)
		if err == nil || err.Error() != tt.want || got != 0 {
			t.Errorf("parse %q = %d, %v\nwant error %s", tt.text, got, err, tt.want)
		}
	}
}

func TestPrintedQuantityParsesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64().Draw(t, "n")
		// Round numbers take other paths than those that are not.
		switch rapid.IntRange(0, 2).Draw(t, "shape") {
		case 1:
			n = n >> 40 * 1000
		case 2:
			n = n >> 30 << 10
		}
		if got, err := rate.ParseCount(rate.FormatCount(n)); err != nil || got != n {
			t.Fatalf("count %d prints as %q, which parses to %d, %v", n, rate.FormatCount(n), got, err)
		}
		if got, err := rate.ParseSize(rate.FormatSize(n)); err != nil || got != n {
			t.Fatalf("size %d prints as %q, which parses to %d, %v", n, rate.FormatSize(n), got, err)
		}
	})
}

package rate_test

import (
	"testing"

	"github.com/headgate/headgate/userspace/rate"
)

func FuzzParsePackets(f *testing.F)   { fuzz(f, rate.ParsePackets, rate.Rate.String) }
func FuzzParseBandwidth(f *testing.F) { fuzz(f, rate.ParseBandwidth, rate.Rate.String) }
func FuzzParseRequests(f *testing.F)  { fuzz(f, rate.ParseRequests, rate.Rate.String) }
func FuzzParseCount(f *testing.F)     { fuzz(f, rate.ParseCount, rate.FormatCount) }
func FuzzParseSize(f *testing.F)      { fuzz(f, rate.ParseSize, rate.FormatSize) }

// fuzz checks that no text makes parse panic and that what it accepts prints as
// a text that parses back to the same value. The seeds are in testdata/fuzz.
func fuzz[T comparable](f *testing.F, parse func(string) (T, error), format func(T) string) {
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parse(text)
		if err != nil {
			return
		}
		again, err := parse(format(v))
		if err != nil || again != v {
			t.Errorf("%q prints as %q, which parses to %v, %v; want %v", text, format(v), again, err, v)
		}
	})
}

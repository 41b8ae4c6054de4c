package limit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
	"pgregory.net/rapid"
)

func TestDecodedLimitCompilesToTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, unit, want := drawParams(t)
		r, burst := p.Rate(unit)
		again, err := limit.Compile(r, burst)
		if err != nil || again != p || burst != want {
			t.Fatalf("%+v is %s burst %d, which compiles to %+v, %v", p, r, burst, again, err)
		}
	})
}

// Rates with many decimals take the longest search.
func TestDecodedDecimalsCompileToTheSame(t *testing.T) {
	for _, text := range []string{"1.000000001pps", "99999999.999999pps", "1.000007pph", "3.333333ppm", "0.000277778pps"} {
		p := packets(t, text, 7)
		r, burst := p.Rate(rate.Packets)
		if again, err := limit.Compile(r, burst); err != nil || again != p || burst != 7 {
			t.Errorf("%s is %s burst %d, which compiles to %+v, %v; want %+v", text, r, burst, again, err, p)
		}
	}
}

func TestRoundRateDecodesToItself(t *testing.T) {
	tests := []struct {
		name   string
		parse  func(string) (rate.Rate, error)
		unit   rate.Unit
		units  []string
		digits uint64 // largest number with so many digits
	}{
		{"packets", rate.ParsePackets, rate.Packets, strings.Fields("pps kpps Mpps ppm kppm pph kpph"), 999_999_999},
		{"requests", rate.ParseRequests, rate.Requests, strings.Fields("r/s r/m r/h"), 999_999_999},
		{"bandwidth", rate.ParseBandwidth, rate.Bytes, strings.Fields("bit/s kbit/s Mbit/s Gbit/s B/s kB/s MB/s GB/s KiB/s MiB/s GiB/s"), 999},
	}
	for _, tt := range tests {
		t.Run(tt.name, rapid.MakeCheck(func(t *rapid.T) {
			number := rapid.Uint64Range(1, tt.digits).Draw(t, "number")
			zeros := strings.Repeat("0", rapid.IntRange(0, 4).Draw(t, "zeros"))
			text := fmt.Sprint(number) + zeros + rapid.SampledFrom(tt.units).Draw(t, "unit")
			want, err := tt.parse(text)
			if err != nil {
				return // out of range
			}
			p, err := limit.Compile(want, 12_345)
			if err != nil {
				t.Fatal(err)
			}
			if got, burst := p.Rate(tt.unit); got != want || burst != 12_345 {
				t.Fatalf("%s = %#v comes back as %#v burst %d", text, want, got, burst)
			}
		}))
	}
}

// 81416958.5kbit/s and 10177119.8kB/s have the same cost and as many digits.
func TestFirstNotationWinsATie(t *testing.T) {
	p := limit.Params{CostFrac: 422_021_886, BurstFrac: 422_021_886}
	r, burst := p.Rate(rate.Bytes)
	if got := r.String(); got != "81416958.5kbit/s" || burst != 1 {
		t.Errorf("%+v is %s burst %d, want 81416958.5kbit/s burst 1", p, got, burst)
	}
}

func TestDecodeOfOtherParams(t *testing.T) {
	tests := []struct {
		name string
		p    limit.Params
		unit rate.Unit
	}{
		{"no limit", limit.Params{}, rate.Packets},
		{"faster than any rate", limit.Params{CostFrac: 1, Burst: 1}, rate.Packets},
		{"slower than any rate", limit.Params{Cost: 3601e9, Burst: 3601e9}, rate.Packets},
		{"unknown unit", limit.Params{Cost: 10, Burst: 10}, 9},
	}
	for _, tt := range tests {
		if r, burst := tt.p.Rate(tt.unit); r != (rate.Rate{}) || burst != 0 {
			t.Errorf("%s: %#v burst %d, want none", tt.name, r, burst)
		}
	}
}

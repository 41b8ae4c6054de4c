package limit_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
	"pgregory.net/rapid"
)

func TestCompile(t *testing.T) {
	tests := []struct {
		parse func(string) (rate.Rate, error)
		text  string
		burst uint64
		want  limit.Params
	}{
		{rate.ParsePackets, "1pps", 1, limit.Params{Cost: 1e9, Burst: 1e9}},
		{rate.ParsePackets, "10kpps", 20_000, limit.Params{Cost: 100_000, Burst: 2e9}},
		{rate.ParsePackets, "100Mpps", 3, limit.Params{Cost: 10, Burst: 30}},
		{rate.ParsePackets, "3pps", 3, limit.Params{Cost: 333_333_333, CostFrac: 0x5555_5555, Burst: 999_999_999, BurstFrac: 0xffff_ffff}},
		{rate.ParsePackets, "6pps", 3, limit.Params{Cost: 166_666_666, CostFrac: 0xaaaa_aaab, Burst: 500_000_000, BurstFrac: 1}}, // rounded up
		{rate.ParsePackets, "1pph", 640_511, limit.Params{Cost: 3600e9, Burst: 640_511 * 3600e9}},
		{rate.ParseBandwidth, "400Gbit/s", 1500, limit.Params{CostFrac: 85_899_346, Burst: 30, BurstFrac: 120}},
		{rate.ParseBandwidth, "281.474976710656Gbit/s", 1, limit.Params{CostFrac: 122_070_313, BurstFrac: 122_070_313}}, // exactly a half, up
		{rate.ParseBandwidth, "100Mbit/s", 65_536, limit.Params{Cost: 80, Burst: 80 * 65_536}},
		{rate.ParseBandwidth, "1B/s", 1 << 31, limit.Params{Cost: 1e9, Burst: 1e9 << 31}},
		{rate.ParseRequests, "30r/m", 10, limit.Params{Cost: 2e9, Burst: 20e9}},
	}
	for _, tt := range tests {
		if got := compiled(t, tt.parse, tt.text, tt.burst); got != tt.want {
			t.Errorf("%s burst %d = %+v, want %+v", tt.text, tt.burst, got, tt.want)
		}
	}
}

func TestCostIsTheNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]rate.Unit{rate.Packets, rate.Bytes, rate.Requests}).Draw(t, "unit")
		r := drawRate(t, unit)
		p, err := limit.Compile(r, 1)
		if err != nil {
			t.Fatal(err)
		}
		exact := new(big.Rat).SetFrac(fixedPoint(uint64(r.Per), 0), new(big.Int).SetUint64(r.Count))
		got := new(big.Rat).SetInt(fixedPoint(p.Cost, p.CostFrac))
		off := new(big.Rat).Sub(got, exact)
		if half := big.NewRat(1, 2); off.Cmp(half) > 0 || off.Cmp(new(big.Rat).Neg(half)) <= 0 {
			t.Fatalf("%s costs %s * 2^-32 ns, %s from exact", r, got.RatString(), off.FloatString(3))
		}
	})
}

func TestCompiledRateIsWithin6In10To9(t *testing.T) {
	tests := []struct {
		parse func(string) (rate.Rate, error)
		units []string
	}{
		{rate.ParsePackets, strings.Fields("pph ppm pps kpps Mpps")},
		{rate.ParseBandwidth, strings.Fields("B/s KiB/s MB/s Mbit/s Gbit/s")},
	}
	for _, tt := range tests {
		for _, unit := range tt.units {
			for _, number := range strings.Fields("1 1.7 3 7.77 10 13 99.9 100 250 400") {
				r, err := tt.parse(number + unit)
				if err != nil {
					continue // out of range
				}
				p := compiled(t, tt.parse, number+unit, 1)
				exact := new(big.Rat).SetFrac(fixedPoint(uint64(r.Per), 0), new(big.Int).SetUint64(r.Count))
				off := new(big.Rat).SetInt(fixedPoint(p.Cost, p.CostFrac))
				off.Quo(off, exact).Sub(off, big.NewRat(1, 1)).Abs(off)
				if off.Cmp(big.NewRat(6, 1e9)) > 0 {
					t.Errorf("%s is off by %s", r, off.FloatString(12))
				}
			}
		}
	}
}

func TestCompileErrors(t *testing.T) {
	pps := func(count uint64, per time.Duration) rate.Rate {
		return rate.Rate{Count: count, Per: per, Unit: rate.Packets}
	}
	tests := []struct {
		r     rate.Rate
		burst uint64
		want  string
	}{
		{rate.Rate{}, 1, "rate of 0 packets per 0s: a rate of 0 would let nothing pass"},
		{pps(10, -1), 1, "rate of 10 packets per -1ns: the interval must be longer than 0"},
		{pps(1<<63, 1), 1, "rate of 9223372036854775808 packets per 1ns: too high; use 1pph to 100Mpps"},
		{pps(10, time.Second), 0, "burst 0 at 10pps: would let nothing pass; use at least 1"},
		{pps(1, time.Hour), 640_512, "burst 640512 at 1pph: takes more than 73 years to earn; use at most 640511"},
		{pps(100e6, time.Second), 1 << 62, "burst 4611686018427387904 at 100Mpps: takes more than 73 years to earn; use at most 230584300921369395"},
		{rate.Rate{Count: 1, Per: time.Second, Unit: rate.Bytes}, 1 << 63, "burst 9223372036854775808 at 8bit/s: takes more than 73 years to earn; use at most 2305843009"},
	}
	for _, tt := range tests {
		p, err := limit.Compile(tt.r, tt.burst)
		if err == nil || err.Error() != tt.want || p != (limit.Params{}) {
			t.Errorf("Compile(%#v, %d) = %+v, %v\nwant error %s", tt.r, tt.burst, p, err, tt.want)
		}
		if errors.Is(err, rate.ErrZero) != (tt.r.Count == 0) {
			t.Errorf("Compile(%#v, %d): errors.Is(%v, ErrZero) is wrong", tt.r, tt.burst, err)
		}
	}
}

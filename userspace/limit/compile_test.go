package limit_test

import (
	"errors"
	"math"
	"math/big"
	"math/bits"
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
		{rate.ParsePackets, "3pps", 3, limit.Params{Cost: 333_333_334, Burst: 1_000_000_002}},
		{rate.ParsePackets, "99999989pps", 2, limit.Params{Cost: 5121, Burst: 10_242, Shift: 9}}, // 5120.0006
		{rate.ParsePackets, "244200pps", 1, limit.Params{Cost: 4096, Burst: 4096}},               // 4095.004
		{rate.ParsePackets, "244300pps", 1, limit.Params{Cost: 8187, Burst: 8187, Shift: 1}},     // 4093.3 at shift 0
		{rate.ParsePackets, "1pph", 1_281_023, limit.Params{Cost: 3600e9, Burst: 1_281_023 * 3600e9}},
		{rate.ParseBandwidth, "400Gbit/s", 1500, limit.Params{Cost: 1311, Burst: 1_966_500, Shift: 16}}, // 1310.72
		{rate.ParseBandwidth, "32GB/s", 1, limit.Params{Cost: 1, Burst: 1, Shift: 5}},                   // exactly 1/32 ns
		{rate.ParseBandwidth, "64Gbit/s", 1, limit.Params{Cost: 1, Burst: 1, Shift: 3}},
		{rate.ParseBandwidth, "65Gbit/s", 1, limit.Params{Cost: 8066, Burst: 8066, Shift: 16}}, // 8065.97
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

func TestLargestBurstCompiles(t *testing.T) {
	if p := packets(t, "62500kpps", 1<<58); p != (limit.Params{Cost: 16, Burst: 1 << 62}) {
		t.Errorf("2^62 ticks compile to %+v", p)
	}
}

// The cost is never below the exact one, so that the rate is never above, and
// less than 0.1 % higher.
func TestCostIsRoundedUpALittle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimit(t)
		count := new(big.Int).SetUint64(l.rate.Count)
		exact := new(big.Int).Lsh(big.NewInt(int64(l.rate.Per)), uint(l.Shift)) // times Count
		off := new(big.Int).Mul(unsigned(l.Cost), count)
		off.Sub(off, exact)
		if off.Sign() < 0 || off.Cmp(count) >= 0 {
			t.Fatalf("%v is not Per/Count rounded up", l)
		}
		if off.Mul(off, big.NewInt(1000)).Cmp(exact) >= 0 {
			t.Fatalf("%v is 0.1 %% off", l)
		}
		if high, total := bits.Mul64(l.Cost, l.burst); high != 0 || total != l.Burst || total > 1<<62 {
			t.Fatalf("%v: the burst is not burst times the cost", l)
		}
	})
}

func TestShiftIsTheSmallestPrecise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimit(t)
		precise := func(shift uint8) bool {
			ticks := new(big.Int).Lsh(big.NewInt(int64(l.rate.Per)), uint(shift))
			cost, rest := ticks.DivMod(ticks, unsigned(l.rate.Count), new(big.Int))
			return rest.Sign() == 0 || cost.Cmp(big.NewInt(1<<12-1)) >= 0
		}
		if l.Shift > limit.MaxShift || l.Shift < limit.MaxShift && !precise(l.Shift) {
			t.Fatalf("%v is not precise", l)
		}
		for smaller := range l.Shift {
			if precise(smaller) {
				t.Fatalf("%v would be precise with shift %d", l, smaller)
			}
		}
	})
}

// C multiplies the cost by a 32-bit length in 64 bits.
func TestChargeFitsIn64Bits(t *testing.T) {
	slowest := compiled(t, rate.ParseBandwidth, "1B/s", 1)
	high, charge := bits.Mul64(slowest.Cost, math.MaxUint32)
	if high != 0 || charge > 1<<62 {
		t.Errorf("4 GiB at 1B/s cost %d ticks and %d * 2^64", charge, high)
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
		{pps(1, time.Hour), 1_281_024, "burst 1281024 at 1pph: too large; use at most 1281023"},
		{pps(100e6, time.Second), 1 << 62, "burst 4611686018427387904 at 100Mpps: too large; use at most 461168601842738790"},
		{pps(62.5e6, time.Second), 1<<58 + 1, "burst 288230376151711745 at 62.5Mpps: too large; use at most 288230376151711744"},
		{rate.Rate{Count: 1, Per: time.Second, Unit: rate.Bytes}, 1 << 63, "burst 9223372036854775808 at 8bit/s: too large; use at most 4611686018"},
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

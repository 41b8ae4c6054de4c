package limit_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
	"pgregory.net/rapid"
)

// drawParams draws a limit over the whole range of rates, with its unit and
// burst.
func drawParams(t *rapid.T) (limit.Params, rate.Unit, uint64) {
	unit := rapid.SampledFrom([]rate.Unit{rate.Packets, rate.Bytes, rate.Requests}).Draw(t, "unit")
	burst := rapid.Uint64Range(1, 1<<rapid.IntRange(0, 19).Draw(t, "burst bits")).Draw(t, "burst")
	p, err := limit.Compile(drawRate(t, unit), burst)
	if err != nil {
		t.Fatal(err)
	}
	return p, unit, burst
}

func drawRate(t *rapid.T, unit rate.Unit) rate.Rate {
	pers := []time.Duration{time.Second, time.Minute, time.Hour}
	if unit == rate.Bytes { // has only decimals of a second
		pers = []time.Duration{time.Second, 10 * time.Second, 1000 * time.Second}
	}
	per := rapid.SampledFrom(pers).Draw(t, "per")
	seconds := uint64(per / time.Second)
	least, most := uint64(1), 100e6*seconds
	if unit == rate.Bytes {
		least, most = seconds, 50e9*seconds
	}
	most = max(least, most>>rapid.IntRange(0, 35).Draw(t, "shift"))
	r, err := rate.FromInterval(rapid.Uint64Range(least, most).Draw(t, "count"), per, unit)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// drawUnits draws a number of units to take, mostly around the burst or less.
func drawUnits(t *rapid.T, unit rate.Unit, burst uint64) uint64 {
	if unit != rate.Bytes {
		return 1
	}
	return rapid.Uint64Range(0, burst+burst/8+1).Draw(t, "length")
}

// drawGap draws a time between two packets that matters to p: much less than
// one unit's cost up to more than the whole burst.
func drawGap(t *rapid.T, p limit.Params) uint64 {
	bits := rapid.IntRange(0, new(big.Int).SetUint64(p.Burst).BitLen()+1).Draw(t, "gap bits")
	return rapid.Uint64Range(0, 1<<bits).Draw(t, "gap")
}

// tokens is a token bucket with exact arithmetic in 2^-32 ns: an independent
// way to say what the limiter must do.
type tokens struct {
	cost, burst *big.Int
	free        *big.Int
	last        uint64
}

func fixedPoint(ns uint64, frac uint32) *big.Int {
	n := new(big.Int).Lsh(new(big.Int).SetUint64(ns), 32)
	return n.Add(n, big.NewInt(int64(frac)))
}

func newTokens(p limit.Params) *tokens {
	burst := fixedPoint(p.Burst, p.BurstFrac)
	return &tokens{cost: fixedPoint(p.Cost, p.CostFrac), burst: burst, free: new(big.Int).Set(burst)}
}

func (b *tokens) take(n, now uint64) bool {
	b.free.Add(b.free, fixedPoint(now-b.last, 0))
	if b.free.Cmp(b.burst) > 0 {
		b.free.Set(b.burst)
	}
	b.last = now
	price := new(big.Int).Mul(b.cost, new(big.Int).SetUint64(n))
	if price.Cmp(b.free) > 0 {
		return false
	}
	b.free.Sub(b.free, price)
	return true
}

// The limiter decides as an exact token bucket does, so that it neither admits
// more than burst + rate*t nor refuses a source that stays within that.
func TestEqualsExactTokenBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, unit, burst := drawParams(t)
		model, s := newTokens(p), limit.State{}
		now := uint64(start)
		for range rapid.IntRange(1, 200).Draw(t, "packets") {
			now += drawGap(t, p)
			n := drawUnits(t, unit, burst)
			want := model.take(n, now)
			if fits, took := p.Fits(s, n, now), p.Take(&s, n, now); took != want || fits != want {
				t.Fatalf("%+v: %d units at %d: Fits %v, Take %v, token bucket %v", p, n, now, fits, took, want)
			}
		}
	})
}

// passed is a charge that the limiter let pass.
type passed struct{ units, at uint64 }

// checkWindows checks that no window between two charges holds more than
// burst + rate*t, with the compiled cost and without rounding.
func checkWindows(t *rapid.T, p limit.Params, all []passed) {
	cost, burst := fixedPoint(p.Cost, p.CostFrac), fixedPoint(p.Burst, p.BurstFrac)
	for i := range all {
		units := uint64(0)
		first, last := all[i].at, all[i].at
		for _, c := range all[i:] {
			units += c.units
			first, last = min(first, c.at), max(last, c.at)
			used := new(big.Int).Mul(cost, new(big.Int).SetUint64(units))
			if used.Cmp(new(big.Int).Add(burst, fixedPoint(last-first, 0))) > 0 {
				t.Fatalf("%+v: %d units within %d ns", p, units, last-first)
			}
		}
	}
}

// The bound holds in every window, whatever state the source begins with, and
// also if the clock jumps back and forth.
func TestEveryWindowIsBounded(t *testing.T) {
	for _, name := range []string{"forward", "jumping"} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			p, unit, burst := drawParams(t)
			s := limit.State{TAT: start + rapid.Uint64Range(0, 2*p.Burst).Draw(t, "TAT"), Phase: rapid.Uint32().Draw(t, "phase")}
			now := uint64(start)
			var all []passed
			for range rapid.IntRange(1, 60).Draw(t, "packets") {
				gap := drawGap(t, p)
				if name == "jumping" && rapid.Bool().Draw(t, "back") {
					now -= min(gap, now)
				} else {
					now += gap
				}
				if n := drawUnits(t, unit, burst); p.Take(&s, n, now) {
					all = append(all, passed{n, now})
				}
			}
			checkWindows(t, p, all)
		}))
	}
}

// What fits fits later too, and a clock that went back admits no more.
func TestLaterIsNeverStricter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, unit, burst := drawParams(t)
		s := limit.State{TAT: start + drawGap(t, p), Phase: rapid.Uint32().Draw(t, "phase")}
		n := drawUnits(t, unit, burst)
		earlier := start + drawGap(t, p)
		later := earlier + drawGap(t, p)
		if p.Fits(s, n, earlier) && !p.Fits(s, n, later) {
			t.Fatalf("%+v %+v: %d units fit at %d but not at %d", p, s, n, earlier, later)
		}
	})
}

// A source that keeps its distance always passes, with a burst of one. One that
// sends on the exact schedule, rounded to the clock, needs 1 ns of burst more.
func TestConformingSourceAlwaysPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t, rate.Packets)
		one, err1 := limit.Compile(r, 1)
		two, err2 := limit.Compile(r, 2)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		cost := fixedPoint(one.Cost, one.CostFrac)
		var steady, scheduled limit.State
		for i := range uint64(500) {
			if now := start + i*ceil(cost); !one.Take(&steady, 1, now) {
				t.Fatalf("%s burst 1: packet %d of a steady source refused", r, i)
			}
			due := start + ceil(new(big.Int).Mul(cost, new(big.Int).SetUint64(i)))
			if !two.Take(&scheduled, 1, due) {
				t.Fatalf("%s burst 2: packet %d on schedule refused", r, i)
			}
		}
	})
}

// ceil rounds 2^-32 ns up to ns.
func ceil(v *big.Int) uint64 {
	v = new(big.Int).Add(v, big.NewInt(1<<32-1))
	return v.Rsh(v, 32).Uint64()
}

// Whatever they are given, the functions return, and agree with each other.
func TestAnyInputReturns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u64, u32 := rapid.Uint64(), rapid.Uint32()
		p := limit.Params{Cost: u64.Draw(t, "cost"), CostFrac: u32.Draw(t, "frac"), Burst: u64.Draw(t, "burst"), BurstFrac: u32.Draw(t, "burst frac")}
		s := limit.State{TAT: u64.Draw(t, "TAT"), Phase: u32.Draw(t, "phase")}
		n, now := u64.Draw(t, "n"), u64.Draw(t, "now")
		p.Remaining(s, now)
		p.RetryAfter(s, n, now)
		p.Rate(rate.Unit(u32.Draw(t, "unit")))
		after := s
		if fits := p.Fits(s, n, now); fits != p.Take(&after, n, now) || !fits && after != s {
			t.Fatalf("%+v %+v: Fits(%d, %d) = %v, then %+v", p, s, n, now, fits, after)
		}
		p.Adopt(&after, now)
		if after.TAT > now && after.TAT-now > p.Burst {
			t.Fatalf("%+v: %+v is beyond the burst at %d", p, after, now)
		}
	})
}

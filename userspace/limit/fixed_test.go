package limit

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/rate"
	"pgregory.net/rapid"
)

// drawFixed draws spans of every magnitude.
func drawFixed(t *rapid.T, label string) fixed {
	shift := rapid.IntRange(0, 63).Draw(t, label+" shift")
	return fixed{rapid.Uint64().Draw(t, label) >> shift, rapid.Uint32().Draw(t, label+" fraction")}
}

// Fixed point must agree with arithmetic that has no word size.
func TestFixedPointAgreesWithBigIntegers(t *testing.T) {
	limit := new(big.Int).Lsh(big.NewInt(1), 96)
	rapid.Check(t, func(t *rapid.T) {
		f, g, n := drawFixed(t, "f"), drawFixed(t, "g"), rapid.Uint64().Draw(t, "n")
		if rapid.Bool().Draw(t, "edge") { // where only the fraction's carry overflows
			n = math.MaxUint64 / max(f.ns, 1)
		}
		check := func(what string, got fixed, ok bool, want *big.Int) {
			if fits := want.Cmp(limit) < 0; ok != fits || ok && got.big().Cmp(want) != 0 {
				t.Fatalf("%+v %s: %+v, %v; want %v", f, what, got, ok, want)
			}
		}
		product, ok := f.times(n)
		check("times", product, ok, new(big.Int).Mul(f.big(), new(big.Int).SetUint64(n)))
		sum, ok := f.plus(g)
		check("plus", sum, ok, new(big.Int).Add(f.big(), g.big()))
		if f.atMost(g) != (f.big().Cmp(g.big()) <= 0) {
			t.Fatalf("%+v atMost %+v is %v", f, g, f.atMost(g))
		}
		if g.atMost(f) {
			check("minus", f.minus(g), true, new(big.Int).Sub(f.big(), g.big()))
		}
	})
}

func TestQuotientAgreesWithBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, g := drawFixed(t, "f"), drawFixed(t, "g")
		if g == (fixed{}) {
			return
		}
		// Just below a multiple is where an estimate is too high.
		if multiple, ok := g.times(uint64(rapid.Uint32().Draw(t, "multiple"))); ok && multiple != (fixed{}) {
			f = rapid.SampledFrom([]fixed{f, multiple, multiple.minus(fixed{frac: 1})}).Draw(t, "dividend")
		}
		want := new(big.Int).Quo(f.big(), g.big())
		if !want.IsUint64() {
			want.SetUint64(1<<64 - 1)
		}
		if got := f.quo(g); got != want.Uint64() {
			t.Fatalf("%+v / %+v = %d, want %d", f, g, got, want)
		}
	})
}

// The cost is Per/Count rounded half up, also for counts out of any range.
func TestCostAgreesWithBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rate.Rate{
			Count: rapid.Uint64Min(1).Draw(t, "count") >> rapid.IntRange(0, 63).Draw(t, "shift"),
			Per:   time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "per")),
		}
		if rapid.Bool().Draw(t, "carry") { // when half of Count is added
			r.Per |= math.MaxUint32
		}
		r.Count = max(r.Count, 1)
		count := new(big.Int).SetUint64(r.Count)
		want := new(big.Int).Lsh(fixed{ns: uint64(r.Per)}.big(), 1)
		want.Add(want, count).Quo(want, count.Lsh(count, 1))
		if got := costOf(r).big(); got.Cmp(want) != 0 {
			t.Fatalf("%d per %d ns costs %v, want %v", r.Count, r.Per, got, want)
		}
	})
}

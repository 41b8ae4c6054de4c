package limit

import (
	"math/big"
	"time"

	"github.com/headgate/headgate/userspace/rate"
)

// Rate returns a rate and a burst that Compile turns into p, so that what the
// kernel holds can be shown to people. Many rates may compile to the same cost;
// the one returned is the roundest: among those with the fewest significant
// digits in a notation of the unit, the first of per second, minute and hour
// (packets, requests) or bit/s, B/s, KiB/s, MiB/s and GiB/s (bytes).
//
// For packets and requests that is the very rate that was compiled if it has at
// most nine significant digits, for bytes if it has at most three; more, the
// slower the rate. The burst is always exact.
//
// Params that limit nothing, and those that Compile does not make from a rate
// in that unit, give the zero Rate.
func (p Params) Rate(unit rate.Unit) (r rate.Rate, burst uint64) {
	if p.IsZero() {
		return rate.Rate{}, 0
	}
	costs := p.costs()
	fewest := 0
	for _, notation := range notations(unit) {
		perSecond, digits, ok := costs.shortest(notation)
		if !ok || fewest > 0 && digits >= fewest {
			continue
		}
		if candidate, ok := fromPerSecond(perSecond, unit); ok {
			r, fewest = candidate, digits
		}
	}
	if r.IsZero() {
		return rate.Rate{}, 0
	}
	return r, p.burst().quo(p.cost())
}

// notations returns what a number 1 in each way to write a rate of the unit is
// worth, in units per second.
func notations(unit rate.Unit) []*big.Rat {
	if unit == rate.Bytes {
		return []*big.Rat{
			big.NewRat(1, 8), big.NewRat(1, 1),
			big.NewRat(1<<10, 1), big.NewRat(1<<20, 1), big.NewRat(1<<30, 1),
		}
	}
	return []*big.Rat{big.NewRat(1, 1), big.NewRat(1, 60), big.NewRat(1, 3600)}
}

// interval is a range of rates in units per second, without its lower and with
// its upper end.
type interval struct{ above, upTo *big.Rat }

// costs returns the rates whose compiled cost is p's. Half up means that a cost
// c comes from Per/Count in [c-1/2, c+1/2), in 2^-32 ns.
func (p Params) costs() interval {
	second := new(big.Int).Lsh(big.NewInt(int64(time.Second)), 33) // in 2^-33 ns
	twice := new(big.Int).Lsh(p.cost().big(), 1)
	one := big.NewInt(1)
	return interval{
		above: new(big.Rat).SetFrac(second, new(big.Int).Add(twice, one)),
		upTo:  new(big.Rat).SetFrac(second, new(big.Int).Sub(twice, one)),
	}
}

// shortest returns the rate within i, in units per second, that has the fewest
// significant digits when counted in notation.
func (i interval) shortest(notation *big.Rat) (perSecond *big.Rat, digits int, ok bool) {
	// No rate is above 400 * 10^9 of any notation, and no Rate keeps more
	// than 18 decimals.
	for exponent := 11; exponent >= -18; exponent-- {
		step := new(big.Rat).Mul(notation, powerOf10(exponent))
		steps := new(big.Rat).Quo(i.upTo, step)
		whole := new(big.Int).Quo(steps.Num(), steps.Denom())
		v := step.Mul(step, new(big.Rat).SetInt(whole))
		if v.Cmp(i.above) > 0 {
			return v, len(whole.String()), true
		}
	}
	return nil, 0, false
}

func powerOf10(exponent int) *big.Rat {
	power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil))
	if exponent < 0 {
		power.Inv(power)
	}
	return power
}

// fromPerSecond reports false if a Rate cannot hold perSecond.
func fromPerSecond(perSecond *big.Rat, unit rate.Unit) (rate.Rate, bool) {
	perNs := new(big.Rat).Quo(perSecond, big.NewRat(int64(time.Second), 1))
	if !perNs.Num().IsUint64() || !perNs.Denom().IsInt64() {
		return rate.Rate{}, false
	}
	r, err := rate.FromInterval(perNs.Num().Uint64(), time.Duration(perNs.Denom().Int64()), unit)
	return r, err == nil
}

// big returns f in 2^-32 ns.
func (f fixed) big() *big.Int {
	n := new(big.Int).SetUint64(f.ns)
	return n.Lsh(n, 32).Add(n, big.NewInt(int64(f.frac)))
}

package limit

import (
	"fmt"
	"math/bits"

	"github.com/headgate/headgate/userspace/rate"
)

// maxBurst is the longest time that a burst may cost, about 73 years. It leaves
// room in 64 bits for the clock and for one more charge.
const maxBurst = 1 << 61

// Compile turns a rate and a burst, in the unit of the rate, into Params. The
// cost of a unit is Per/Count rounded half up to 2^-32 ns; the burst costs
// exactly burst times that. The rounding is at most 6 in 10^9 of any rate that
// package rate accepts.
//
// It returns an error if r is not a rate that rate.FromInterval accepts
// (wrapping rate.ErrZero if it is zero), if burst is 0, or if the burst costs
// more than 2^61 ns.
func Compile(r rate.Rate, burst uint64) (Params, error) {
	r, err := rate.FromInterval(r.Count, r.Per, r.Unit)
	if err != nil {
		return Params{}, err
	}
	if burst == 0 {
		return Params{}, fmt.Errorf("burst 0 at %s: would let nothing pass; use at least 1", r)
	}
	cost := costOf(r)
	total, ok := cost.times(burst)
	if !ok || !total.atMost(fixed{ns: maxBurst}) {
		return Params{}, fmt.Errorf("burst %d at %s: takes more than 73 years to earn; use at most %d",
			burst, r, fixed{ns: maxBurst}.quo(cost))
	}
	return Params{Cost: cost.ns, CostFrac: cost.frac, Burst: total.ns, BurstFrac: total.frac}, nil
}

// costOf returns Per/Count, rounded half up.
func costOf(r rate.Rate) fixed {
	high, low := fixed{ns: uint64(r.Per)}.words()
	low, carry := bits.Add64(low, r.Count/2, 0)
	high += carry
	costHigh := high / r.Count
	costLow, _ := bits.Div64(high%r.Count, low, r.Count)
	return fixed{costHigh<<32 | costLow>>32, uint32(costLow)}
}

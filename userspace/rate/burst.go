package rate

import (
	"math"
	"math/big"
)

// leastBytes is the least default burst of a bandwidth: a few packets of full size have to fit,
// also those that a network card or the kernel has put together.
const leastBytes = 64 << 10

// DefaultBurst returns the burst of a rate that is given without one: what the rate lets pass in a second, but at
// least 1, and 64 KiB for a rate in Bytes. It is 0 for an unset rate.
func (r Rate) DefaultBurst() uint64 {
	switch {
	case r.IsZero():
		return 0
	case r.Unit == Bytes:
		return max(leastBytes, r.InSecond())
	default:
		return max(1, r.InSecond())
	}
}

// InSecond returns how many units the rate lets pass in a second, rounded down; math.MaxUint64 if that is more than
// 64 bits hold, as in no rate that this package makes.
func (r Rate) InSecond() uint64 {
	v := r.perSecond()
	whole := new(big.Int).Quo(v.Num(), v.Denom())
	if !whole.IsUint64() {
		return math.MaxUint64
	}
	return whole.Uint64()
}

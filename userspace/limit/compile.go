package limit

import (
	"fmt"
	"math/bits"

	"github.com/headgate/headgate/userspace/rate"
)

const (
	// maxBurst is the largest burst in ticks. It leaves room in 64 bits for
	// ClockSlack and one more charge, and the greater part of a wrap to be idle.
	maxBurst = 1 << 62

	// preciseCost is a cost, in ticks, that rounding up changes little enough.
	preciseCost = 1 << 12
)

// Compile turns a rate and a burst, in the unit of the rate, into Params. The
// cost of a unit is Per/Count, with the smallest shift up to MaxShift that
// makes it exact or at least 2^12 ticks. What is not exact is rounded up, so
// that the rate is never higher than asked for, and lower by less than 0.1 %.
// The burst is exactly burst times the cost.
//
// It returns an error if r is not a rate that rate.FromInterval accepts
// (wrapping rate.ErrZero if it is zero), if burst is 0, or if the burst is more
// than 2^62 ticks.
func Compile(r rate.Rate, burst uint64) (Params, error) {
	r, err := rate.FromInterval(r.Count, r.Per, r.Unit)
	if err != nil {
		return Params{}, err
	}
	if burst == 0 {
		return Params{}, fmt.Errorf("burst 0 at %s: would let nothing pass; use at least 1", r)
	}
	cost, shift := costOf(r)
	high, total := bits.Mul64(cost, burst)
	if high != 0 || total > maxBurst {
		return Params{}, fmt.Errorf("burst %d at %s: too large; use at most %d", burst, r, maxBurst/cost)
	}
	return Params{Cost: cost, Burst: total, Shift: shift}, nil
}

// costOf returns what one unit costs, rounded up, in ticks of 2^-shift ns.
func costOf(r rate.Rate) (cost uint64, shift uint8) {
	for shift = range uint8(MaxShift + 1) {
		var exact bool
		if cost, exact = costAt(r, shift); exact || cost >= preciseCost {
			break
		}
	}
	return cost, shift
}

// costAt returns what one unit costs in ticks of 2^-shift ns, rounded up, and
// whether that is exact. r is canonical and shift at most MaxShift: the quotient
// fits in 64 bits, because no rate is below one unit an hour.
func costAt(r rate.Rate, shift uint8) (cost uint64, exact bool) {
	per := uint64(r.Per)
	cost, rest := bits.Div64(per>>(64-shift), per<<shift, r.Count)
	if rest != 0 {
		cost++
	}
	return cost, rest == 0
}

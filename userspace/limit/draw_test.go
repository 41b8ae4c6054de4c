package limit_test

import (
	"fmt"
	"math/big"
	"math/bits"
	"time"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
	"pgregory.net/rapid"
)

// drawn is a limit with what it was compiled from.
type drawn struct {
	limit.Params
	rate  rate.Rate
	burst uint64
}

func (l drawn) String() string {
	return fmt.Sprintf("%s burst %d (%+v)", l.rate, l.burst, l.Params)
}

// drawLimit draws a limit over the whole range of rates.
func drawLimit(t *rapid.T) drawn {
	r := drawRate(t, rapid.SampledFrom([]rate.Unit{rate.Packets, rate.Bytes, rate.Requests}).Draw(t, "unit"))
	burst := rapid.Uint64Range(1, 1<<rapid.IntRange(0, 19).Draw(t, "burst bits")).Draw(t, "burst")
	p, err := limit.Compile(r, burst)
	if err != nil {
		t.Fatal(err)
	}
	return drawn{p, r, burst}
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
	count := rapid.OneOf(rapid.Uint64Range(least, most), rapid.Just(most)).Draw(t, "count")
	r, err := rate.FromInterval(count, per, unit)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// units draws a number of units to take, mostly around the burst or less.
func (l drawn) units(t *rapid.T) uint64 {
	if l.rate.Unit != rate.Bytes {
		return 1
	}
	return rapid.Uint64Range(1, l.burst+l.burst/8+1).Draw(t, "length")
}

// gap draws a time in ns that matters to l: much less than one unit's cost up
// to more than the whole burst.
func (l drawn) gap(t *rapid.T) uint64 {
	n := rapid.IntRange(0, bits.Len64(l.Burst>>l.Shift)+1).Draw(t, "gap bits")
	return rapid.Uint64Range(0, 1<<n).Draw(t, "gap")
}

// state draws one that has a debt at time start, at most the burst, or is idle.
func (l drawn) state(t *rapid.T) limit.State {
	s := l.Fresh(start)
	s.TAT += rapid.Uint64Range(0, l.Burst).Draw(t, "debt")
	s.TAT -= rapid.SampledFrom([]uint64{0, l.Burst}).Draw(t, "idle")
	return s
}

// reading draws what the clock of some CPU says at time now: CPUs agree to
// within ClockSlack.
func reading(t *rapid.T, now uint64) uint64 {
	n := rapid.IntRange(0, bits.Len64(limit.ClockSlack)-1).Draw(t, "ahead bits")
	return now + rapid.Uint64Range(0, 1<<n).Draw(t, "ahead")
}

func unsigned(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

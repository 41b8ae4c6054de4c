// Package bounds says which limits can be shared. What decides about them in Redis counts in floating-point numbers, which
// are exact below 2^53 only, and in µs.
package bounds

import (
	"fmt"
	"math/bits"
	"time"
)

const (
	// Exact is below what numbers have to be to be exact.
	Exact = 1 << 53
	// Longest is how long a key may take to be as one never seen: as long it is kept.
	Longest = 366 * 24 * time.Hour
	// MostAtOnce is how much of a key may be under way at a time.
	MostAtOnce = 1_000_000
	// MostPlaces is how many places of such a limit a request may take.
	MostPlaces = 100
	// mostUnits is how many units of a key may pass in a time.
	mostUnits = 1 << 51
)

// Ticks returns what a unit costs where count of them drain in per, and how much drains in a µs: the least whole numbers of
// which that is true. per must be at least a µs, and count at least 1.
func Ticks(count uint64, per time.Duration) (cost, drain uint64) {
	micros := uint64(per / time.Microsecond)
	divisor := gcd(micros, count)
	return micros / divisor, count / divisor
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Leaky returns an error if a limit of count units in per, with burst more at one instant, cannot be shared.
func Leaky(count uint64, per time.Duration, burst uint64) error {
	if err := Window(count, per); err != nil {
		return err
	}
	cost, drain := Ticks(count, per)
	most := Exact / cost
	if high, drained := bits.Mul64(uint64(Longest/time.Microsecond), drain); high == 0 {
		most = min(most, drained/cost)
	}
	if most = max(most, 2) - 2; burst > most {
		return fmt.Errorf("burst %d at %d requests per %v: more than what machines can share; use at most %d", burst, count, per, most)
	}
	return nil
}

// Sliding returns an error if a limit of count units in sliding windows of per cannot be shared.
func Sliding(count uint64, per time.Duration) error {
	if err := Window(count, per); err != nil {
		return err
	}
	if most := uint64(Exact-1) / uint64(per/time.Microsecond); count > most {
		return fmt.Errorf("%d requests per %v: more than a sliding window that machines share can count; use at most %d, or algorithm window",
			count, per, most)
	}
	return nil
}

// Concurrent returns an error if a limit of so many at a time cannot be shared.
func Concurrent(count uint64) error {
	switch {
	case count == 0:
		return fmt.Errorf("0 requests at a time would let nothing pass; use at least 1")
	case count > MostAtOnce:
		return fmt.Errorf("%d requests at a time: more than machines can share; use at most %d", count, MostAtOnce)
	}
	return nil
}

// Window returns an error if a limit of count units in windows of per cannot be shared.
func Window(count uint64, per time.Duration) error {
	switch {
	case count == 0:
		return fmt.Errorf("0 requests per %v would let nothing pass; use at least 1", per)
	case count > mostUnits:
		return fmt.Errorf("%d requests per %v: more than machines can share; use at most %d", count, per, uint64(mostUnits))
	case per < time.Microsecond || per%time.Microsecond != 0:
		return fmt.Errorf("%d requests per %v: machines share times in whole microseconds only; use at least 1µs", count, per)
	case per > Longest/2:
		return fmt.Errorf("%d requests per %v: longer than machines can share; use at most %v", count, per, Longest/2)
	}
	return nil
}

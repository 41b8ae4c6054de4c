// Package rate reads and prints the rates, counts and sizes that people write
// in headgate's commands and files: 10kpps, 100Mbit/s, 30r/m, 20k, 64KiB.
//
// All arithmetic is exact. A text that cannot be kept exactly is an error; it
// is never rounded.
package rate

import (
	"errors"
	"fmt"
	"math/big"
	"time"
)

// ErrZero is wrapped by the error for a rate of zero. A zero rate is refused
// because it is not a limit: it would let nothing pass. Callers can use
// errors.Is to add how to block a source instead.
var ErrZero = errors.New("a rate of 0 would let nothing pass")

// Unit is what a Rate counts.
type Unit uint8

// The units of a Rate.
const (
	Packets Unit = iota
	Bytes
	Requests
)

// String returns the plural English name of the unit.
func (u Unit) String() string {
	switch u {
	case Packets:
		return "packets"
	case Bytes:
		return "bytes"
	case Requests:
		return "requests"
	default:
		return fmt.Sprintf("unit %d", uint8(u))
	}
}

// Rate is Count units per Per. The zero value means that no rate is set.
//
// A Rate made by this package is canonical, so that equal rates compare equal
// with ==: Per is the shortest of one second, one minute and one hour in which
// Count is whole, and where there is none, Count and Per (in nanoseconds) are
// in lowest terms. 2.5Mpps is 2500000 per second, 1.5ppm is 90 per hour.
//
// A Rate built by hand need not be canonical or even valid; FromInterval makes
// it so.
type Rate struct {
	Count uint64
	Per   time.Duration
	Unit  Unit
}

// FromInterval returns the canonical Rate of count units per interval per. It
// returns an error wrapping ErrZero if count is 0, and an error if per is not
// positive, if unit is unknown, if the rate is outside the range of its unit
// (packets 1pph to 100Mpps, bytes 1B/s to 400Gbit/s, requests 1r/h to
// 100000000r/s), or if no finite decimal can write it: 1 packet per 7s is none
// per second, minute or hour, and 61 bytes per minute is none per second.
func FromInterval(count uint64, per time.Duration, unit Unit) (Rate, error) {
	r := Rate{Count: count, Per: per, Unit: unit}
	if count != 0 && per <= 0 {
		return Rate{}, fmt.Errorf("rate of %s: the interval must be longer than 0", r.interval())
	}
	canonical, err := fromRat(r.perSecond(), unit)
	if err != nil {
		return Rate{}, fmt.Errorf("rate of %s: %w", r.interval(), err)
	}
	return canonical, nil
}

// IsZero reports whether no rate is set.
func (r Rate) IsZero() bool { return r.Count == 0 }

// perSecond returns the exact rate in units per second, 0 for an unset rate.
func (r Rate) perSecond() *big.Rat {
	if r.Count == 0 || r.Per <= 0 {
		return new(big.Rat)
	}
	perNs := new(big.Rat).SetFrac(new(big.Int).SetUint64(r.Count), big.NewInt(int64(r.Per)))
	return perNs.Mul(perNs, big.NewRat(int64(time.Second), 1))
}

// interval words a rate that may have no text in any notation.
func (r Rate) interval() string {
	return fmt.Sprintf("%d %s per %s", r.Count, r.Unit, r.Per)
}

// fromRat returns the canonical Rate of perSecond units per second.
func fromRat(perSecond *big.Rat, unit Unit) (Rate, error) {
	if err := check(perSecond, unit); err != nil {
		return Rate{}, err
	}
	for _, per := range []time.Duration{time.Second, time.Minute, time.Hour} {
		count := new(big.Rat).Mul(perSecond, big.NewRat(int64(per/time.Second), 1))
		if count.IsInt() { // the range of check keeps it far below 2^64
			return Rate{Count: count.Num().Uint64(), Per: per, Unit: unit}, nil
		}
	}
	perNs := new(big.Rat).Quo(perSecond, big.NewRat(int64(time.Second), 1))
	if !perNs.Num().IsUint64() || !perNs.Denom().IsInt64() {
		return Rate{}, errors.New("too many digits to keep exactly; use fewer decimals")
	}
	return Rate{Count: perNs.Num().Uint64(), Per: time.Duration(perNs.Denom().Int64()), Unit: unit}, nil
}

// check refuses a rate that is zero, out of range or not a finite decimal.
func check(perSecond *big.Rat, unit Unit) error {
	if perSecond.Sign() == 0 {
		return ErrZero
	}
	span, ok := spanOf(unit)
	switch {
	case !ok:
		return fmt.Errorf("unknown %s; use packets, bytes or requests", unit)
	case perSecond.Cmp(span.min) < 0:
		return fmt.Errorf("too low; use %s", span.text)
	case perSecond.Cmp(span.max) > 0:
		return fmt.Errorf("too high; use %s", span.text)
	}
	longest := new(big.Rat).Mul(perSecond, big.NewRat(span.seconds, 1))
	if _, exact := longest.FloatPrec(); !exact {
		return errors.New("no finite decimal can write it; use a rounder rate")
	}
	return nil
}

// span is the range of a unit's rates in units per second, ends included, and
// the longest interval of its notations. What is a decimal per second or minute
// is one per hour too, so that only the longest has to be looked at.
type span struct {
	min, max *big.Rat
	text     string
	seconds  int64
}

func spanOf(unit Unit) (span, bool) {
	switch unit {
	case Packets:
		return span{big.NewRat(1, 3600), big.NewRat(100e6, 1), "1pph to 100Mpps", 3600}, true
	case Bytes:
		return span{big.NewRat(1, 1), big.NewRat(400e9, 8), "1B/s to 400Gbit/s", 1}, true
	case Requests:
		return span{big.NewRat(1, 3600), big.NewRat(100e6, 1), "1r/h to 100000000r/s", 3600}, true
	default:
		return span{}, false
	}
}

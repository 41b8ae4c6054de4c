package nginx

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is a rate as nginx keeps it, in thousandths of a request a second.
// ParseRate and RateOf make those that nginx can express.
type Rate uint64

// MaxRate is the largest Rate, a hundred million requests a second.
const MaxRate Rate = 100_000_000 * milli

// milli is one request.
const milli = 1000

// ErrZero is wrapped by the error for a rate of 0, which would let nothing pass.
var ErrZero = errors.New("a rate of 0 would let nothing pass")

// ParseRate reads the rate of a limit_req_zone: a whole number with r/s, r/m or,
// for requests a second, nothing behind it, up to 100000000r/s.
func ParseRate(s string) (Rate, error) {
	digits, per := s, time.Second
	switch {
	case strings.HasSuffix(s, "r/s"):
		digits = strings.TrimSuffix(s, "r/s")
	case strings.HasSuffix(s, "r/m"):
		digits, per = strings.TrimSuffix(s, "r/m"), time.Minute
	}
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("rate %q: nginx takes a whole number of requests a second or minute: 10r/s, 90r/m", s)
	}
	count, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("rate %q: more than 100000000r/s", s)
	}
	r, err := RateOf(count, per)
	if err != nil {
		return 0, fmt.Errorf("rate %q: %w", s, err)
	}
	return r, nil
}

// RateOf returns the Rate of count requests per second or minute, cut off to
// thousandths of a request a second: 7 per minute are 116. It is an error if per is
// something else, and if the rate is 0 or above MaxRate.
func RateOf(count uint64, per time.Duration) (Rate, error) {
	if per != time.Second && per != time.Minute {
		return 0, errors.New("nginx has rates per second and per minute only; algorithm leaky has all")
	}
	seconds := uint64(per / time.Second)
	switch {
	case count == 0:
		return 0, ErrZero
	case count > uint64(MaxRate/milli)*seconds:
		return 0, errors.New("more than 100000000r/s")
	}
	return Rate(count * milli / seconds), nil
}

// String returns r in requests a second, in the form 0.116r/s.
func (r Rate) String() string {
	whole, rest := r/milli, r%milli
	if rest == 0 {
		return fmt.Sprintf("%dr/s", whole)
	}
	return fmt.Sprintf("%d.%sr/s", whole, strings.TrimRight(fmt.Sprintf("%03d", rest), "0"))
}

// Interval returns the time in which one request becomes free, to the next nanosecond.
func (r Rate) Interval() time.Duration {
	if r == 0 {
		return 0
	}
	const second = milli * uint64(time.Second)
	return time.Duration((second + uint64(r) - 1) / uint64(r))
}

// short drops digits that nobody reads.
func short(d time.Duration) time.Duration {
	for unit := time.Second; unit > time.Nanosecond; unit /= 1000 {
		if d >= unit {
			return d.Round(unit / 1000)
		}
	}
	return d
}

// Warnings returns in what way r with burst is not what one would expect of count
// requests per second or minute, which RateOf made it of; nil if it is.
func (r Rate) Warnings(count uint64, per time.Duration, burst uint64) []string {
	var warnings []string
	if seconds := uint64(per / time.Second); seconds != 0 && uint64(r)*seconds != count*milli {
		warnings = append(warnings, fmt.Sprintf(
			"nginx cuts the rate off to %v, one request in %v instead of %v; algorithm leaky keeps it",
			r, short(r.Interval()), short(per/time.Duration(count))))
	}
	const perMillisecond = 1000 * milli // the rate of one request a millisecond
	if need := (uint64(r) - 1) / perMillisecond; burst < need {
		warnings = append(warnings, fmt.Sprintf(
			"nginx counts whole milliseconds and lets at most burst+1 requests pass in each: %dr/s with a burst of %d; use a burst of %d or more, or algorithm leaky",
			(burst+1)*1000, burst, need))
	}
	return warnings
}

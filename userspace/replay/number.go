package replay

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Times are less than half of what a Duration holds, so that none is out of range when a delay is added, nor the time
// between two.
const latest time.Duration = 1 << 62

var (
	errNumber = errors.New("not a number of milliseconds; write one as 1500 or 0.25")
	errRange  = errors.New("further away than 146 years; use milliseconds")
)

// milliseconds reads a number as JSON has it. What is behind the nanoseconds is cut off.
func milliseconds(s string) (time.Duration, error) {
	if strings.ContainsAny(s, "eE") {
		return scientific(s)
	}
	ns, ok := decimal(s)
	switch {
	case !ok:
		return 0, errNumber
	case ns >= latest || ns <= -latest:
		return 0, errRange
	}
	return ns, nil
}

func scientific(s string) (time.Duration, error) {
	ms, err := strconv.ParseFloat(s, 64)
	switch ns := ms * float64(time.Millisecond); {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, errNumber
	case math.Abs(ns) >= float64(latest):
		return 0, errRange
	default:
		return time.Duration(ns), nil
	}
}

// decimal reads -12.345678, whose last digit is a nanosecond. A number out of range is just so.
func decimal(s string) (ns time.Duration, ok bool) {
	s, negative := strings.CutPrefix(s, "-")
	whole, fraction, dot := strings.Cut(s, ".")
	n, ok := digits(whole, uint64(latest/time.Millisecond)+1)
	if !ok || len(whole) > 1 && whole[0] == '0' {
		return 0, false
	}
	ns = time.Duration(n) * time.Millisecond
	if dot {
		if _, ok := digits(fraction, math.MaxInt64); !ok {
			return 0, false
		}
		scale := time.Millisecond
		for i := 0; i < len(fraction) && scale > 1; i++ {
			scale /= 10
			ns += time.Duration(fraction[i]-'0') * scale
		}
	}
	if negative {
		ns = -ns
	}
	return ns, true
}

// digits reads a number of at least one digit; it is most if it is larger.
func digits(s string, most uint64) (n uint64, ok bool) {
	for i := range len(s) {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = min(n*10+uint64(c), most)
	}
	return n, s != ""
}

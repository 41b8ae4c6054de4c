package rate

import (
	"fmt"
	"math/big"
	"time"
)

// ParseQuota reads a number of HTTP requests per window: 60r/m is 60 and one
// minute. Notation, range and errors are those of ParseRequests. But 60r/m is
// not 1r/s here, as a limiter that counts in windows admits 60 requests at one
// instant under the first and 1 under the second. So the number must be whole in
// the unit that it is written in.
func ParseQuota(s string) (count uint64, per time.Duration, err error) {
	r, err := ParseRequests(s)
	if err != nil {
		return 0, 0, err
	}
	_, suffix := splitNumber(s)
	per = windowOf(suffix)
	v := r.perSecond()
	v.Mul(v, big.NewRat(int64(per/time.Second), 1))
	if v.IsInt() { // the range of ParseRequests keeps it far below 2^64
		return v.Num().Uint64(), per, nil
	}
	return 0, 0, fmt.Errorf("rate %.40q: not a whole number; use %s", s, r.whole())
}

// windowOf returns the time that a suffix of requests means.
func windowOf(suffix string) time.Duration {
	switch suffix {
	case "r/s":
		return time.Second
	case "r/m":
		return time.Minute
	default:
		return time.Hour
	}
}

// whole words how to write r, which is canonical, with a whole number.
func (r Rate) whole() string {
	switch r.Per {
	case time.Second, time.Minute, time.Hour:
		return r.String()
	default:
		return "fewer decimals"
	}
}

package resty

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/headgate/headgate/userspace/keyed"
)

// ErrNotFound is the error of giving back what a key does not have: because nothing was taken,
// or because the key had to make room for another.
var ErrNotFound = errors.New("resty: key not found")

// Result is what a limiter says of a request.
type Result struct {
	// Rejected reports that the request may not pass. The other fields are zero then.
	Rejected bool
	// Delay is how long it must wait before it goes on, rounded to a ns.
	Delay time.Duration
	// Excess is by how many requests the key is ahead of its rate, this one included. Of Req only.
	Excess float64
	// Conn is how many connections of the key there are, this one included. Of Conn only.
	Conn int64
	// Remaining is how many more requests fit in the window. Of Count only.
	Remaining int64
}

// Limiter is what Combine combines.
type Limiter interface {
	// Incoming says whether a request of key passes, and charges it if commit is set and it does.
	Incoming(key string, commit bool, now time.Duration) Result
	// Uncommit takes back one charge of key, and returns the state without it.
	Uncommit(key string, now time.Duration) (Result, error)
}

// Options are the settings that all limiters have.
type Options struct {
	// MaxKeys is how many keys are remembered, from 1 to keyed.MostKeys; 0 for keyed.DefaultMaxKeys.
	MaxKeys int
}

func (o Options) maxKeys() (int, error) {
	switch {
	case o.MaxKeys == 0:
		return keyed.DefaultMaxKeys, nil
	case o.MaxKeys < 0 || o.MaxKeys > keyed.MostKeys:
		return 0, fmt.Errorf("resty: max keys %d; use 1 to %d", o.MaxKeys, keyed.MostKeys)
	}
	return o.MaxKeys, nil
}

// seconds returns s as a time, at most the longest.
func seconds(s float64) time.Duration {
	ns := math.Round(s * 1e9)
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

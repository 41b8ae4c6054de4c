package plane

import (
	"sync"
	"time"
)

const (
	// leastAge is how old what was read may be in any case.
	leastAge = time.Second
	// share bounds what reading costs: at most one part in so many of the time.
	share = 20
)

// aged is something that takes long to read, and may be a little old: a million rules take a second.
type aged[T any] struct {
	mu    sync.Mutex
	value T
	until time.Time // the zero time where there is none
}

// get returns what was read a short time ago, or reads it. now is a clock that does not go back.
func (a *aged[T]) get(now func() time.Time, read func() (T, error)) (T, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	begin := now()
	if begin.Before(a.until) {
		return a.value, nil
	}
	value, err := read()
	if err != nil {
		return value, err
	}
	end := now()
	a.value, a.until = value, end.Add(max(leastAge, share*end.Sub(begin)))
	return value, nil
}

// forget makes the next get read.
func (a *aged[T]) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until = time.Time{}
}

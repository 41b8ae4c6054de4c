package limiters

import (
	"sync"
	"time"

	"go.uber.org/ratelimit"
)

// uberLimiter is uber's, which has no keys, in a sync.Map. It sleeps where others refuse, so it
// gets the highest rate that there is, one request a nanosecond, with its default slack.
func uberLimiter() Subject {
	return Subject{Name: "uber in sync.Map", Waits: true, Open: func(Setup) (Limiter, func(), error) {
		return &uber{}, nothing, nil
	}}
}

type uber struct {
	keys sync.Map // of ratelimit.Limiter by string
}

func (u *uber) Take(key string) bool {
	l, ok := u.keys.Load(key)
	if !ok {
		l, _ = u.keys.LoadOrStore(key, ratelimit.New(int(time.Second)))
	}
	l.(ratelimit.Limiter).Take()
	return true
}

// Keys implements Counter.
func (u *uber) Keys() int { return count(&u.keys) }

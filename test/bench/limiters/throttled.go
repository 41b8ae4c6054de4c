package limiters

import (
	"context"

	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
)

// throttledMap is throttled's GCRA over its store without a bound.
func throttledMap() Subject {
	return Subject{Name: "throttled", Open: func(s Setup) (Limiter, func(), error) {
		return openThrottled(s, 0)
	}}
}

// throttledLRU is throttled's GCRA over its store that forgets what was not used for longest.
func throttledLRU() Subject {
	return Subject{Name: "throttled, LRU", Bounded: true, Open: func(s Setup) (Limiter, func(), error) {
		return openThrottled(s, s.Keys)
	}}
}

func openThrottled(s Setup, maxKeys int) (Limiter, func(), error) {
	store, err := memstore.NewCtx(maxKeys)
	if err != nil {
		return nil, nil, err
	}
	l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
		MaxRate: throttled.PerDuration(1, s.Per), MaxBurst: s.Burst - 1,
	})
	if err != nil {
		return nil, nil, err
	}
	// By default the 10th CPU that is faster makes it an error.
	l.SetMaxCASAttemptsLimit(1000)
	return throttledLimiter{l}, nothing, nil
}

type throttledLimiter struct{ *throttled.GCRARateLimiterCtx }

func (t throttledLimiter) Take(key string) bool {
	limited, _, err := t.RateLimitCtx(context.Background(), key, 1)
	return err == nil && !limited
}

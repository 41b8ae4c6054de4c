package limiters

import (
	"context"
	"time"

	"github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"
)

// goLimiter is sethvargo's, which fills all tokens of a key at once when an interval is over.
// It looks for keys to forget every 6 hours by default.
func goLimiter() Subject {
	return Subject{Name: "go-limiter", Open: func(s Setup) (Limiter, func(), error) {
		store, err := memorystore.New(&memorystore.Config{
			Tokens: uint64(s.Burst), Interval: time.Duration(s.Burst) * s.Per,
		})
		if err != nil {
			return nil, nil, err
		}
		// Its Close forgets keys one by one, and can but return nil.
		return goLimiterStore{store}, func() { _ = store.Close(context.Background()) }, nil
	}}
}

type goLimiterStore struct{ limiter.Store }

func (g goLimiterStore) Take(key string) bool {
	_, _, _, ok, err := g.Store.Take(context.Background(), key)
	return err == nil && ok
}

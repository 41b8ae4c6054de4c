package limiters

import (
	"context"
	"time"

	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

// ululeLimiter is ulule's, a counter for a window of time. By default it looks through all keys
// every 30 s; here every hour, not to disturb what is measured.
func ululeLimiter() Subject {
	return Subject{Name: "ulule", Open: func(s Setup) (Limiter, func(), error) {
		store := memory.NewStoreWithOptions(limiter.StoreOptions{
			Prefix: limiter.DefaultPrefix, CleanUpInterval: time.Hour,
		})
		rate := limiter.Rate{Limit: int64(s.Burst), Period: time.Duration(s.Burst) * s.Per}
		return ulule{limiter.New(store, rate)}, nothing, nil
	}}
}

type ulule struct{ *limiter.Limiter }

func (u ulule) Take(key string) bool {
	c, err := u.Get(context.Background(), key)
	return err == nil && !c.Reached
}

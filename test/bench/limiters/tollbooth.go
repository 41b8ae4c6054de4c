package limiters

import (
	"time"

	"github.com/didip/tollbooth/v8"
	"github.com/didip/tollbooth/v8/limiter"
)

// tollboothLimiter is tollbooth without its reading of requests: a copy of x/time/rate in a
// cache whose entries expire, by default after 10 years.
func tollboothLimiter() Subject {
	return Subject{Name: "tollbooth", Open: func(s Setup) (Limiter, func(), error) {
		l := tollbooth.NewLimiter(float64(time.Second)/float64(s.Per), nil).SetBurst(s.Burst)
		return tollboothBuckets{l}, nothing, nil
	}}
}

type tollboothBuckets struct{ *limiter.Limiter }

func (t tollboothBuckets) Take(key string) bool { return !t.LimitReached(key) }

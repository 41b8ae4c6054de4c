package limiters

import (
	"time"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/limit/nginx"
	"github.com/headgate/headgate/userspace/rate"
	"github.com/headgate/headgate/userspace/sketch"
)

// ours is one of headgate's limiters, and the clock that it is told.
type ours struct {
	keyed.Limiter[keyed.Key]
	start time.Time
}

func (o *ours) Take(key string) bool {
	return o.Limiter.Take(keyed.KeyOf(key), 1, time.Since(o.start)).Allowed
}

// counted is one that knows how many keys it remembers.
type counted struct{ ours }

// Keys implements Counter.
func (c *counted) Keys() int { return int(c.Counters().Keys) }

// our returns the subject of that name. open returns what limits.
func our(name string, open func(Setup) (keyed.Limiter[keyed.Key], error)) Subject {
	return Subject{
		Name: name, Ours: true, Bounded: true,
		Open: func(s Setup) (Limiter, func(), error) {
			l, err := open(s)
			if err != nil {
				return nil, nil, err
			}
			return &counted{ours{l, time.Now()}}, nothing, nil
		},
	}
}

func (s Setup) options() keyed.Options[keyed.Key] {
	return keyed.Options[keyed.Key]{MaxKeys: s.Keys}
}

func (s Setup) leaky() (limit.Leaky, error) {
	return limit.NewLeaky(rate.Rate{Count: 1, Per: s.Per, Unit: rate.Requests}, uint64(s.Burst-1), 0)
}

// quota returns the window in which the limit lets as many pass as its burst.
func (s Setup) quota() (count uint64, per time.Duration) {
	return uint64(s.Burst), time.Duration(s.Burst) * s.Per
}

func leaky() Subject {
	return our(Reference, func(s Setup) (keyed.Limiter[keyed.Key], error) {
		l, err := s.leaky()
		return keyed.New[keyed.Key](l, s.options()), err
	})
}

func window() Subject {
	return our("headgate window", func(s Setup) (keyed.Limiter[keyed.Key], error) {
		w, err := limit.NewWindow(s.quota())
		return keyed.New[keyed.Key](w, s.options()), err
	})
}

func sliding() Subject {
	return our("headgate sliding", func(s Setup) (keyed.Limiter[keyed.Key], error) {
		w, err := limit.NewSliding(s.quota())
		return keyed.New[keyed.Key](w, s.options()), err
	})
}

// sketched keeps keys that owe at most half of their burst by nothing but a hash, as many as
// they are, and does not count those.
func sketched() Subject {
	return Subject{
		Name: "headgate sketch", Ours: true, Bounded: true,
		Open: func(s Setup) (Limiter, func(), error) {
			l, err := s.leaky()
			if err != nil {
				return nil, nil, err
			}
			two := sketch.NewLimiter(l, sketch.Options[keyed.Key]{Keys: s.options()})
			return &ours{two, time.Now()}, nothing, nil
		},
	}
}

// nginxZone is limit_req to the millisecond. Its slowest rate is one request in 1000 s.
func nginxZone() Subject {
	return our("headgate nginx", func(s Setup) (keyed.Limiter[keyed.Key], error) {
		milli := nginx.Rate(max(1, 1000*time.Second/s.Per))
		z, err := nginx.NewZone(milli, nginx.Options[keyed.Key]{MaxKeys: s.Keys})
		if err != nil {
			return nil, err
		}
		return z.Limiter(uint64(s.Burst-1), 0), nil
	})
}

package limiters

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// xtimeSyncMap is golang.org/x/time/rate, which has no keys, in a map that reads without a lock.
func xtimeSyncMap() Subject {
	return Subject{Name: "x/time/rate in sync.Map", Open: func(s Setup) (Limiter, func(), error) {
		return &xtimeSync{every: rate.Every(s.Per), burst: s.Burst}, nothing, nil
	}}
}

type xtimeSync struct {
	keys  sync.Map // of *rate.Limiter by string
	every rate.Limit
	burst int
}

func (x *xtimeSync) Take(key string) bool {
	l, ok := x.keys.Load(key)
	if !ok {
		l, _ = x.keys.LoadOrStore(key, rate.NewLimiter(x.every, x.burst))
	}
	return l.(*rate.Limiter).Allow()
}

// Keys implements Counter.
func (x *xtimeSync) Keys() int { return count(&x.keys) }

func count(m *sync.Map) (n int) {
	for range m.Range {
		n++
	}
	return n
}

// xtimeMutexMap is golang.org/x/time/rate as most tutorials use it. They keep the time of the
// last use too, to forget keys by a goroutine that looks at all of them; none runs here.
func xtimeMutexMap() Subject {
	return Subject{Name: "x/time/rate in map+mutex", Open: func(s Setup) (Limiter, func(), error) {
		x := &xtimeMutex{keys: map[string]*visitor{}, every: rate.Every(s.Per), burst: s.Burst}
		return x, nothing, nil
	}}
}

type xtimeMutex struct {
	sync.Mutex
	keys  map[string]*visitor
	every rate.Limit
	burst int
}

type visitor struct {
	limiter *rate.Limiter
	seen    time.Time
}

func (x *xtimeMutex) Take(key string) bool {
	x.Lock()
	v := x.keys[key]
	if v == nil {
		v = &visitor{limiter: rate.NewLimiter(x.every, x.burst)}
		x.keys[key] = v
	}
	v.seen = time.Now()
	x.Unlock()
	return v.limiter.Allow()
}

// Keys implements Counter.
func (x *xtimeMutex) Keys() int { return len(x.keys) }

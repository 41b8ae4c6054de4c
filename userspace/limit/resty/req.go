package resty

import (
	"fmt"
	"math"
	"time"
)

// mostRequests bounds rates and bursts so that a float64 holds them exactly in thousandths.
const mostRequests = 1e12

// Req limits the rate of requests, as resty.limit.req: what is ahead of the rate by up to the burst is
// delayed, what is ahead by more is rejected. One request more than the burst passes at an instant, and the
// first of a new key passes always.
//
// As there, time counts in milliseconds, and the time between two requests is taken without its sign, so
// that a clock that is set back gives the key as much as one that is set forward: use one that is not set.
// What a key is ahead is cut to thousandths of a request when it is kept.
type Req struct {
	*store
	rate, burst float64 // in thousandths
}

// NewReq returns a Req for rate requests per second and a burst in requests; both may be fractions. It fails
// if the rate is not in (0, 1e12] or the burst not in [0, 1e12].
func NewReq(rate, burst float64, o Options) (*Req, error) {
	s, err := newStore(o)
	if err != nil {
		return nil, err
	}
	r := &Req{store: s}
	if err := r.SetRate(rate); err != nil {
		return nil, err
	}
	if err := r.SetBurst(burst); err != nil {
		return nil, err
	}
	return r, nil
}

// SetRate changes the rate from the next call on. What keys are ahead stays. It fails, and changes nothing,
// where NewReq would.
func (r *Req) SetRate(rate float64) error {
	if !(rate > 0 && rate <= mostRequests) { // so that NaN fails too
		return fmt.Errorf("resty: rate %v; use more than 0, at most %g requests per second", rate, mostRequests)
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.rate = rate * 1000
	return nil
}

// SetBurst changes the burst from the next call on. It fails, and changes nothing, where NewReq would.
func (r *Req) SetBurst(burst float64) error {
	if !(burst >= 0 && burst <= mostRequests) {
		return fmt.Errorf("resty: burst %v; use 0 to %g requests", burst, mostRequests)
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.burst = burst * 1000
	return nil
}

// Incoming says whether a request of key passes, and charges it if commit is set and it does.
func (r *Req) Incoming(key string, commit bool, now time.Duration) Result {
	return incoming(r, key, commit, now)
}

func (r *Req) incoming(key string, commit bool, now time.Duration) Result {
	excess := 0.0
	if known, found := r.get(key); found {
		excess = max(r.ahead(known, now)+1000, 0)
		if excess > r.burst {
			return Result{Rejected: true}
		}
	}
	if commit {
		r.set(key, record{n: int64(excess), at: now.Milliseconds()}, func(other record) bool {
			return r.ahead(other, now)+1000 > 0
		})
	}
	return Result{Delay: seconds(excess / r.rate), Excess: excess / 1000}
}

// ahead returns by how many thousandths of a request a key is ahead of its rate, less than 0 if it is behind.
func (r *Req) ahead(known record, now time.Duration) float64 {
	elapsed := math.Abs(float64(now.Milliseconds() - known.at))
	return float64(known.n) - r.rate*elapsed/1000
}

// Uncommit takes a request back, and returns the excess without it, or ErrNotFound if the key is not known.
// It is exact unless the key had been behind its rate: the time that it was behind is lost.
func (r *Req) Uncommit(key string, _ time.Duration) (Result, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	known, found := r.get(key)
	if !found {
		return Result{}, ErrNotFound
	}
	known.n = max(known.n-1000, 0)
	r.set(key, known, nil)
	return Result{Excess: float64(known.n) / 1000}, nil
}

package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// health is whether a server is left out. Its zero value is healthy.
type health struct {
	out      atomic.Bool
	spotted  atomic.Bool               // the last answer was not good
	retry    atomic.Pointer[time.Time] // when a request is tried, if nothing else asks; nil for never
	mu       sync.Mutex
	failures int // in a row
	answers  int // in a row
}

// change is what became of a server.
type change int

const (
	unchanged change = iota
	leftOut
	takenBack
)

func (h *health) isOut() bool      { return h.out.Load() }
func (h *health) isSpotless() bool { return !h.spotted.Load() }

// isDue reports, once an interval, that a server that is left out may be tried with a request.
func (h *health) isDue() bool {
	if !h.out.Load() {
		return false
	}
	retry := h.retry.Load()
	now := time.Now()
	if retry == nil || now.Before(*retry) {
		return false
	}
	next := now.Add(time.Second)
	return h.retry.CompareAndSwap(retry, &next)
}

// bad notes that the server did not answer, or not well. Who asks for no path has only requests to find out that
// it is back.
func (h *health) bad(c config.Health) change {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spotted.Store(true)
	h.answers = 0
	h.failures++
	if h.failures < c.Failures {
		return unchanged
	}
	if c.Path == "" {
		retry := time.Now().Add(c.Interval)
		h.retry.Store(&retry)
	}
	if h.out.Swap(true) {
		return unchanged
	}
	return leftOut
}

// good notes that a check went well.
func (h *health) good(c config.Health) change {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers++
	if h.out.Load() && h.answers < c.Successes {
		return unchanged
	}
	return h.clear()
}

// answered notes that a request was answered.
func (h *health) answered(c config.Health) change {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.Path != "" && h.out.Load() {
		return unchanged
	}
	return h.clear()
}

func (h *health) clear() change {
	h.failures = 0
	h.retry.Store(nil)
	h.spotted.Store(false)
	if h.out.Swap(false) {
		return takenBack
	}
	return unchanged
}

// Run asks the servers whether they are well, as the upstream says, until ctx ends.
func (p *Proxy) Run(ctx context.Context) {
	for ctx.Err() == nil {
		p.runChecks(ctx, p.pool.Load())
	}
}

// runChecks returns when the pool is replaced or ctx ends.
func (p *Proxy) runChecks(ctx context.Context, pool *pool) {
	ctx, stop := context.WithCancel(ctx)
	var checks sync.WaitGroup
	defer checks.Wait()
	defer stop()
	if p.o.Transport == nil {
		checks.Go(func() { p.lookUp(ctx, pool) })
	}
	if pool.health.Path != "" {
		for _, s := range pool.servers {
			checks.Go(func() { p.checkAlways(ctx, pool, s) })
		}
	}
	select {
	case <-ctx.Done():
	case <-pool.retired:
	}
}

// The names of servers are looked up every lookUpEvery, and where that fails every lookUpAgain.
const (
	lookUpEvery = time.Minute
	lookUpAgain = 5 * time.Second
)

// lookUp has Reaches know the servers before a request goes to them, until ctx ends.
func (p *Proxy) lookUp(ctx context.Context, pool *pool) {
	for {
		wait := lookUpEvery
		for _, s := range pool.servers {
			if p.met.LookUp(ctx, s.url.Hostname()) != nil {
				wait = lookUpAgain
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

func (p *Proxy) checkAlways(ctx context.Context, pool *pool, s *server) {
	interval := time.NewTicker(pool.health.Interval)
	defer interval.Stop()
	for ctx.Err() == nil {
		err := pool.check(ctx, s)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			p.report(s, s.health.good(pool.health))
		case isOwnFault(err):
			p.log.Error("a server could not be asked whether it is well", "upstream", s.name, "error", err)
		default:
			p.report(s, s.bad(pool.health, err))
		}
		select {
		case <-ctx.Done():
		case <-interval.C:
		}
	}
}

// mostOfCheck bounds what is read of an answer to a check, so that the connection can be used again.
const mostOfCheck = 64 << 10

// check asks s whether it is well, and returns why not.
func (p *pool) check(ctx context.Context, s *server) error {
	ctx, cancel := context.WithTimeout(ctx, p.health.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.name+p.health.Path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("User-Agent", "headgate-health")
	res, err := p.transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(res.Body, mostOfCheck)); err != nil {
		return err
	}
	if res.StatusCode < 200 || res.StatusCode >= 400 {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}

package resty_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headgate/headgate/userspace/limit/resty"
)

const workers = 16

// admitted returns how many of 16,000 parallel requests pass.
func admitted(pass func() bool) (n int64) {
	var passed atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range 1000 {
				if pass() {
					passed.Add(1)
				}
			}
		})
	}
	all.Wait()
	return passed.Load()
}

// openresty/lua-resty-limit-traffic#40, #44: workers that read, then write, admit more than the limit.
func TestCase30LimitsHoldInParallel(t *testing.T) {
	for name, test := range map[string]struct {
		limiter resty.Limiter
		want    int64
	}{
		"req":   {newReq(t, 5, 299), 300}, // the first of a key passes beside the burst
		"conn":  {newConn(t, 100, 200, second), 300},
		"count": {newCount(t, 300, second), 300},
	} {
		t.Run(name, func(t *testing.T) {
			if got := admitted(func() bool { return !test.limiter.Incoming("a", true, 0).Rejected }); got != test.want {
				t.Errorf("Incoming: %d admitted, want %d", got, test.want)
			}
			if got := admitted(func() bool {
				return !resty.Combine([]resty.Charge{{Limiter: test.limiter, Key: "b"}}, 0).Rejected
			}); got != test.want {
				t.Errorf("Combine: %d admitted, want %d", got, test.want)
			}
		})
	}
}

// Whatever the order in which goroutines name them, limiters are charged all or none, and nobody waits for ever.
func TestCase30CombineHoldsInParallel(t *testing.T) {
	n, c, r := newCount(t, 5000, second), newConn(t, 100, 200, second), newReq(t, 1, 8000)
	var turn atomic.Int64
	got := admitted(func() bool {
		all := []resty.Charge{{Limiter: n, Key: "a"}, {Limiter: c, Key: "a"}, {Limiter: r, Key: "a"}}
		if turn.Add(1)%2 == 0 {
			all[0], all[2] = all[2], all[0]
		}
		for _, l := range []resty.Limiter{n, c, r} {
			l.Incoming("a", false, 0) // for the race detector: each lock is held
		}
		return !resty.Combine(all, 0).Rejected
	})
	if got != 300 {
		t.Errorf("%d admitted, want 300", got)
	}
	checkIncoming(t, n, "a", false, 0, remaining(5000-300-1))
	checkIncoming(t, r, "a", false, 0, excess(300*second, 300))
}

// Connections that come, leave and are taken back at the same time leave nothing.
func TestConnInParallelLeavesNothing(t *testing.T) {
	c := newConn(t, 3, 2, second)
	var next atomic.Int64
	var now atomic.Int64
	admitted(func() bool {
		key := strconv.FormatInt(next.Add(1)%7, 10)
		result := c.Incoming(key, true, 0)
		if result.Rejected {
			return false
		}
		if now.Add(1)%2 == 0 {
			_, _ = c.LeavingAfter(key, second)
		} else {
			_, _ = c.Uncommit(key, 0)
		}
		return true
	})
	if n := c.Counters(); n.Keys != 0 || n.Allowed+n.Refused != 16_000 {
		t.Errorf("%+v", n)
	}
	checkIncoming(t, c, "1", false, 0, conn(0, 1))
}

package httplimit

import (
	"fmt"
	"net/http"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
	"github.com/headgate/headgate/userspace/ruleset"
)

// PerIP returns middleware that limits each client to quota (10r/s, 30r/m, 100r/h) and burst requests
// more at one instant. A client is the address of the TCP peer, of an IPv6 one its /64;
// headers that the client writes do not matter. Who has no address, as on a Unix socket, is not limited.
// It remembers at most 100,000 clients. An error says what is wrong with the quota or the burst.
func PerIP(quota string, burst uint64, o Options) (func(http.Handler) http.Handler, error) {
	count, per, err := rate.ParseQuota(quota)
	if err != nil {
		return nil, fmt.Errorf("limit per ip: %w", err)
	}
	set, err := ruleset.New(config.HTTP{
		ClientIP: config.ClientIP{IPv4Prefix: 32, IPv6Prefix: 64},
		Zones: []config.Zone{{
			Name:      "perip",
			Key:       []config.KeyPart{{Kind: config.KeyIP}},
			Algorithm: config.Leaky,
			Quota:     config.Quota{Count: count, Per: per, Text: quota},
			MaxKeys:   100_000,
		}},
		Rules: []config.Rule{{
			Name:   "perip",
			Limits: []config.Use{{Zone: 0, Burst: burst, Delay: burst, Cost: 1}},
			Status: http.StatusTooManyRequests,
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("limit per ip: %w", err)
	}
	return New(set, o), nil
}

// Limit returns middleware that charges each request to its key in l, and refuses with status 429 what l
// does not allow. A request for which key reports false is not limited. Keyed.Slots are freed at the end of the
// response; any other charge stays.
//
// Several of these around each other are not one step: what the inner refuses is charged to the outer. The
// rules of New charge all of their limits or none.
func Limit[K comparable](l keyed.Limiter[K], key func(*http.Request) (K, bool), o Options) func(http.Handler) http.Handler {
	_, slots := l.(*keyed.Slots[K])
	return middleware(keyDecider[K]{l, key, slots}, o)
}

// keyDecider decides by one limiter.
type keyDecider[K comparable] struct {
	limiter keyed.Limiter[K]
	key     func(*http.Request) (K, bool)
	slots   bool // what is charged is held only while the request is under way
}

func (k keyDecider[K]) decide(r *http.Request, now time.Duration) (*ruleset.Decision, freer) {
	key, ok := k.key(r)
	if !ok {
		return &ruleset.Decision{Allowed: true}, nothing{}
	}
	result := k.limiter.Take(key, 1, now)
	d := k.decision(result)
	if !k.slots || !result.Allowed {
		return d, nothing{}
	}
	return d, &place[K]{k.limiter, key, result}
}

// nothing is what most requests hold.
type nothing struct{}

// Free implements freer.
func (nothing) Free(time.Duration) {}

// place is one that a request holds.
type place[K comparable] struct {
	limiter keyed.Limiter[K]
	key     K
	result  limit.Result
}

// Free implements freer.
func (p *place[K]) Free(now time.Duration) { p.limiter.Refund(p.key, p.result, now) }

// decision is that of a set whose only rule has the limit that gave r.
func (k keyDecider[K]) decision(r limit.Result) *ruleset.Decision {
	a := ruleset.Applied{Zone: r.Zone, Result: r}
	if !k.slots {
		a.Window = unknownWindow
	}
	d := &ruleset.Decision{Allowed: r.Allowed, Delay: r.Delay, RetryAfter: r.RetryAfter, Limits: []ruleset.Applied{a}}
	if !r.Allowed {
		d.Status = http.StatusTooManyRequests
		d.Zone, d.Excess = r.Zone, r.Excess
	}
	return d
}

package ruleset

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/shared"
)

// peekShared makes state what the store knows of a key, and reports whether it has answered.
func (z *zone) peekShared(state *KeyState, k key, b *bound) bool {
	asked := [1]shared.Charge{{Zone: z.name, Limit: b.limit, Key: k.text, N: 1}}
	if err := z.common.store.Peek(k.tag, asked[:]); err != nil {
		return false
	}
	r := withoutUnit(asked[0].Result, b)
	r.Zone = z.name
	state.Store, state.Result, state.ResetAfter = Redis, r, r.ResetAfter
	state.Owed = (r.Limit - min(r.Remaining, r.Limit)) * 1000
	if z.algorithm == config.Leaky {
		state.Owed = asked[0].Result.Excess // what the key owes beside one request
	}
	return true
}

// withoutUnit returns what a limit says of no units, from what it says of one: a store is asked about requests.
func withoutUnit(r limit.Result, b *bound) limit.Result {
	if r.Allowed {
		r.Remaining = min(r.Remaining+1, r.Limit)
		if b.limit.Algorithm == config.Leaky {
			r.ResetAfter = max(0, r.ResetAfter-b.limit.Per/time.Duration(b.limit.Count))
		}
	}
	if r.Remaining == r.Limit {
		r.NextAfter, r.ResetAfter = 0, 0
	}
	r.Allowed, r.Delay, r.RetryAfter = true, 0, 0
	r.Excess -= min(r.Excess, 1000)
	return r
}

// forgetShared makes a key one that no machine has seen, and reports whether the store knew something of it.
func (z *zone) forgetShared(k key) (bool, error) {
	u := &use{}
	if len(z.uses) > 0 {
		u = z.uses[0]
	}
	known, err := z.common.store.Forget(k.tag, z.name, k.text, z.quotas[k.quota].over(z.algorithm, u))
	if err != nil {
		return known, fmt.Errorf("zone %q: its keys are in Redis: %w; try again", z.name, err)
	}
	return known, nil
}

package ruleset

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/shared"
)

// Fleet is the machines that share the limits of zones of store redis. The zero value is this machine alone, which then keeps
// such zones in its memory, with the whole of their limits.
type Fleet struct {
	Store shared.Store // where the machines keep them; nil for this machine alone
	// Members is how many machines there are, this one too; at least 1. It is what the limits are divided by while the store does
	// not answer.
	Members int
}

// members returns by what limits are divided that the store does not decide about.
func (f Fleet) members() uint64 {
	if f.Store == nil {
		return 1
	}
	return uint64(max(f.Members, 1))
}

// common is how a store keeps the keys of a zone that machines share.
type common struct {
	store shared.Store
	lease uint64
	tag   tag
}

// share makes zones that machines share such.
func (s *Set) share(h config.HTTP, f Fleet) error {
	for _, z := range s.zones {
		if z.isShared && !slices.Contains(countedAlike(), z.algorithm) {
			return fmt.Errorf("zone %q: algorithm %s counts in the memory of one machine only; use leaky, window, sliding or concurrent", z.name, z.algorithm)
		}
	}
	if f.Store == nil {
		return nil
	}
	for i, g := range h.Groups() {
		for _, n := range g.Zones {
			z := s.zones[n]
			z.common = &common{store: f.Store, lease: h.Zones[n].Lease, tag: z.tagIn(i, g, h)}
			z.members = f.members()
		}
	}
	return nil
}

// countedAlike returns the algorithms that a store counts by as memory does.
func countedAlike() []config.Algorithm {
	return []config.Algorithm{config.Leaky, config.Window, config.Sliding, config.Concurrent}
}

// over returns the limit that all machines have together.
func (q quota) over(a config.Algorithm, u *use) shared.Limit {
	if a == config.Concurrent {
		return shared.Limit{Algorithm: a, Count: q.slots}
	}
	return shared.Limit{Algorithm: a, Count: q.Count, Per: q.Per, Burst: u.burst, Delay: u.delay}
}

// checkShared returns an error for a limit that a store would not count exactly, also where this machine is alone: a file that
// is checked elsewhere is to be right here.
func (z *zone) checkShared(l shared.Limit) error {
	if !z.isShared {
		return nil
	}
	return l.Check()
}

// here returns the quotas of the zone as this machine admits them by itself: of a shared zone, its part.
func (z *zone) here() []quota {
	if z.members == 1 {
		return z.quotas
	}
	var largest uint64 // what fits into no part would never pass
	for _, u := range z.uses {
		largest = max(largest, u.cost)
	}
	parts := make([]quota, len(z.quotas))
	for i, q := range z.quotas {
		parts[i] = q.part(z.algorithm, z.members, largest)
	}
	return parts
}

// part returns what one of so many machines admits: no more than that, but at least as much as one request takes, and a rate of
// 1r/h. Rates are kept to a thousandth.
func (q quota) part(a config.Algorithm, members, least uint64) quota {
	switch a {
	case config.Concurrent:
		q.slots = max(q.slots/members, least)
	case config.Window, config.Sliding:
		q.Count = max(q.Count/members, least)
	default:
		if q.Count <= math.MaxUint64/fine && q.Per <= math.MaxInt64/fine {
			q.Count, q.Per = q.Count*fine, q.Per*fine
		}
		q.Count = max(q.Count/members, leastIn(q.Per), 1)
	}
	return q
}

// here returns the burst and the delay of the use as this machine admits them by itself.
func (u *use) here() (burst, delay uint64) {
	members := u.zone.members
	if members == 1 {
		return u.burst, u.delay
	}
	burst = max((u.burst+1)/members, u.cost) - 1
	if u.delay == u.burst {
		return burst, burst
	}
	return burst, min(u.delay/members, burst)
}

// Way is how it was decided about limits that machines share.
type Way uint8

// The ways.
const (
	NotShared Way = iota // there are none
	NotAsked             // a limit in memory had refused the request, or the rule, before
	Redis                // the store decided
	// The store did not answer, and the rule says what then becomes of its limits: config.Rule.OnStoreFailure.
	Open   // the limit let the request pass
	Local  // this machine decided, by its part
	Closed // the limit refused
)

// String returns a word for logs and traces; nothing for NotShared.
func (w Way) String() string {
	return [...]string{NotShared: "", NotAsked: "not asked", Redis: "redis", Local: "local", Open: "open", Closed: "closed"}[w]
}

// wayOf returns what becomes of limits that the store does not decide about.
func wayOf(f config.OnStoreFailure) Way {
	switch f {
	case config.FailOpen:
		return Open
	case config.FailClosed:
		return Closed
	default:
		return Local
	}
}

// retryUnavailable is when a request may come again that was refused because the store did not answer.
const retryUnavailable = time.Second

package ruleset

import (
	"errors"
	"fmt"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/limit/nginx"
	"github.com/headgate/headgate/userspace/rate"
	"github.com/headgate/headgate/userspace/sketch"
)

// newLimiters returns, for each of the zone's uses and then for each of its quotas, a
// limiter. All of them share the states of the keys, which are in the zone's stores.
func (z *zone) newLimiters() ([][]keyed.Limiter[keyed.Key], error) {
	switch z.algorithm {
	case config.Leaky:
		return z.leaky()
	case config.Nginx:
		return z.nginx()
	case config.Window:
		return z.fixed()
	case config.Sliding:
		return z.sliding()
	case config.Sketch:
		return z.sketch()
	case config.Concurrent:
		return z.slots()
	}
	return nil, fmt.Errorf("algorithm %q is unknown; use leaky, nginx, window, sliding, sketch or concurrent", z.algorithm)
}

// spread returns what limiter makes of each use and quota of z.
func spread[L keyed.Limiter[keyed.Key]](z *zone, limiter func(use, quota int) L) [][]keyed.Limiter[keyed.Key] {
	all := make([][]keyed.Limiter[keyed.Key], len(z.uses))
	for i := range all {
		for j := range z.quotas {
			all[i] = append(all[i], limiter(i, j))
		}
	}
	return all
}

// each returns what compile makes of each quota.
func each[A any](quotas []quota, compile func(q quota) (A, error)) ([]A, error) {
	all := make([]A, len(quotas))
	for i, q := range quotas {
		var err error
		if all[i], err = compile(q); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// compile returns the limits of all uses, for each use those of all quotas.
func (z *zone) compile() ([]limit.Leaky, error) {
	var specs []limit.LeakySpec
	for _, u := range z.uses {
		for _, q := range z.quotas {
			r, err := rate.FromInterval(q.Count, q.Per, rate.Requests)
			if err != nil {
				return nil, err
			}
			specs = append(specs, limit.LeakySpec{Rate: r, Burst: u.burst, Delay: u.delay})
		}
	}
	return limit.CompileLeaky(specs)
}

func (z *zone) leaky() ([][]keyed.Limiter[keyed.Key], error) {
	limits, err := z.compile()
	if err != nil {
		return nil, err
	}
	store := keyed.New[keyed.Key](limits[0], z.keys)
	z.stores = append(z.stores, store)
	return spread(z, func(use, quota int) *keyed.Store[keyed.Key, limit.State, limit.Leaky] {
		return store.With(limits[use*len(z.quotas)+quota])
	}), nil
}

// sketch is leaky in two tiers.
func (z *zone) sketch() ([][]keyed.Limiter[keyed.Key], error) {
	limits, err := z.compile()
	if err != nil {
		return nil, err
	}
	tiers := sketch.NewLimiter(limits[0], sketch.Options[keyed.Key]{Keys: z.keys})
	z.stores = append(z.stores, tiers)
	return spread(z, func(use, quota int) *sketch.Limiter[keyed.Key] {
		return tiers.With(limits[use*len(z.quotas)+quota])
	}), nil
}

func (z *zone) fixed() ([][]keyed.Limiter[keyed.Key], error) {
	limits, err := each(z.quotas, func(q quota) (limit.Window, error) { return limit.NewWindow(q.Count, q.Per) })
	if err != nil {
		return nil, err
	}
	return inWindows[limit.WindowState](z, limits), nil
}

func (z *zone) sliding() ([][]keyed.Limiter[keyed.Key], error) {
	limits, err := each(z.quotas, func(q quota) (limit.Sliding, error) { return limit.NewSliding(q.Count, q.Per) })
	if err != nil {
		return nil, err
	}
	return inWindows[limit.SlidingState](z, limits), nil
}

// inWindows is spread for limits that count in windows: one for each quota. Only those with windows of
// one length can share a store, as the others would forget keys whose window is not over. No key is in two
// of the stores, as it has one quota.
func inWindows[S any, A limit.Algorithm[S]](z *zone, limits []A) [][]keyed.Limiter[keyed.Key] {
	stores := map[time.Duration]*keyed.Store[keyed.Key, S, A]{}
	for i, q := range z.quotas {
		if stores[q.Per] == nil {
			stores[q.Per] = keyed.New[keyed.Key](limits[i], z.keys)
			z.stores = append(z.stores, stores[q.Per])
		}
	}
	return spread(z, func(_, quota int) *keyed.Store[keyed.Key, S, A] {
		return stores[z.quotas[quota].Per].With(limits[quota])
	})
}

func (z *zone) slots() ([][]keyed.Limiter[keyed.Key], error) {
	for _, q := range z.quotas {
		if q.slots == 0 {
			return nil, errors.New("0 requests at a time would let nothing pass; use 1 or more")
		}
	}
	slots := keyed.NewSlots(z.quotas[0].slots, z.keys)
	z.stores = append(z.stores, slots)
	return spread(z, func(_, quota int) *keyed.Slots[keyed.Key] { return slots.With(z.quotas[quota].slots) }), nil
}

func (z *zone) nginx() ([][]keyed.Limiter[keyed.Key], error) {
	if len(z.quotas) > 1 {
		return nil, errors.New("algorithm nginx has one rate for all keys; leave out the overrides, or use leaky")
	}
	r, err := nginx.RateOf(z.quotas[0].Count, z.quotas[0].Per)
	if err != nil {
		return nil, err
	}
	same, err := nginx.NewZone(r, nginx.Options[keyed.Key]{Name: z.keys.Name, MaxKeys: z.keys.MaxKeys})
	if err != nil {
		return nil, err
	}
	z.stores = append(z.stores, same)
	return spread(z, func(use, _ int) *nginx.Limiter[keyed.Key] {
		return same.Limiter(z.uses[use].burst, z.uses[use].delay)
	}), nil
}

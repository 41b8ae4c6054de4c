package ruleset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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
		burst, delay := u.here()
		for _, q := range z.here() {
			r, err := rate.FromInterval(q.Count, q.Per, rate.Requests)
			if err != nil {
				return nil, err
			}
			specs = append(specs, limit.LeakySpec{Rate: r, Burst: burst, Delay: delay})
		}
	}
	return limit.CompileLeaky(specs)
}

// widest returns, of the limits of all uses, those of the one with the largest burst, which has the others' in it.
func (z *zone) widest(limits []limit.Leaky) []limit.Leaky {
	byBurst := func(a, b *use) int { return cmp.Compare(a.burst, b.burst) }
	i := slices.Index(z.uses, slices.MaxFunc(z.uses, byBurst))
	return limits[i*len(z.quotas):][:len(z.quotas)]
}

func (z *zone) leaky() ([][]keyed.Limiter[keyed.Key], error) {
	limits, err := z.compile()
	if err != nil {
		return nil, err
	}
	store := storeFor[limit.State](z, onlyStore, z.widest(limits), z.from)
	return spread(z, func(use, quota int) *keyed.Store[keyed.Key, limit.State, limit.Leaky] {
		return store.OfClass(keyed.Class(quota), limits[use*len(z.quotas)+quota])
	}), nil
}

// sketch is leaky in two tiers.
func (z *zone) sketch() ([][]keyed.Limiter[keyed.Key], error) {
	limits, err := z.compile()
	if err != nil {
		return nil, err
	}
	var tiers *sketch.Limiter[keyed.Key]
	if was, ok := z.was[onlyStore].(*sketch.Limiter[keyed.Key]); ok {
		tiers = was.Succeed(z.widest(limits), z.from)
	} else {
		tiers = sketch.NewClasses(z.widest(limits), sketch.Options[keyed.Key]{Keys: z.keys})
	}
	z.stores[onlyStore] = tiers
	return spread(z, func(use, quota int) *sketch.Limiter[keyed.Key] {
		return tiers.OfClass(keyed.Class(quota), limits[use*len(z.quotas)+quota])
	}), nil
}

// storeFor returns the store of z with that name, for keys of those classes. It has the keys of the store that z had
// before, whose classes are now what from says.
func storeFor[S any, A limit.Algorithm[S]](z *zone, name storeName, classes []A, from []keyed.Class) *keyed.Store[keyed.Key, S, A] {
	var store *keyed.Store[keyed.Key, S, A]
	if was, ok := z.was[name].(*keyed.Store[keyed.Key, S, A]); ok {
		store = was.Succeed(classes, from)
	} else {
		store = keyed.NewClasses[keyed.Key](classes, z.keys)
	}
	z.stores[name] = store
	return store
}

func (z *zone) fixed() ([][]keyed.Limiter[keyed.Key], error) {
	limits, err := each(z.here(), func(q quota) (limit.Window, error) { return limit.NewWindow(q.Count, q.Per) })
	if err != nil {
		return nil, err
	}
	return inWindows[limit.WindowState](z, limits), nil
}

func (z *zone) sliding() ([][]keyed.Limiter[keyed.Key], error) {
	limits, err := each(z.here(), func(q quota) (limit.Sliding, error) { return limit.NewSliding(q.Count, q.Per) })
	if err != nil {
		return nil, err
	}
	return inWindows[limit.SlidingState](z, limits), nil
}

// inWindows is spread for limits that count in windows: one for each quota. Only those with windows of
// one length can share a store, as the others would forget keys whose window is not over. No key is in two
// of the stores, as it has one quota. The classes of all of them are the quotas; what is left of a key whose
// quota has windows of another length now counts for as long as it would have.
func inWindows[S any, A limit.Algorithm[S]](z *zone, limits []A) [][]keyed.Limiter[keyed.Key] {
	stores := map[time.Duration]*keyed.Store[keyed.Key, S, A]{}
	for _, q := range z.quotas {
		if stores[q.Per] == nil {
			stores[q.Per] = storeFor[S](z, storeName(q.Per), ofLength(z.quotas, q.Per, limits), z.from)
		}
	}
	return spread(z, func(_, quota int) *keyed.Store[keyed.Key, S, A] {
		return stores[z.quotas[quota].Per].OfClass(keyed.Class(quota), limits[quota])
	})
}

// ofLength returns the limits of the quotas, in place of those with windows of another length one of that length.
func ofLength[A any](quotas []quota, per time.Duration, limits []A) []A {
	own := slices.Clone(limits)
	first := slices.IndexFunc(quotas, func(q quota) bool { return q.Per == per })
	for i, q := range quotas {
		if q.Per != per {
			own[i] = limits[first]
		}
	}
	return own
}

func (z *zone) slots() ([][]keyed.Limiter[keyed.Key], error) {
	for _, q := range z.quotas {
		if q.slots == 0 {
			return nil, errors.New("0 requests at a time would let nothing pass; use 1 or more")
		}
	}
	quotas := z.here()
	var slots *keyed.Slots[keyed.Key]
	if was, ok := z.was[onlyStore].(*keyed.Slots[keyed.Key]); ok {
		slots = was.Succeed(quotas[0].slots)
	} else {
		slots = keyed.NewSlots(quotas[0].slots, z.keys)
	}
	z.stores[onlyStore] = slots
	return spread(z, func(_, quota int) *keyed.Slots[keyed.Key] { return slots.With(quotas[quota].slots) }), nil
}

func (z *zone) nginx() ([][]keyed.Limiter[keyed.Key], error) {
	if len(z.quotas) > 1 {
		return nil, errors.New("algorithm nginx has one rate for all keys; leave out the overrides, or use leaky")
	}
	r, err := nginxRate(z.quotas[0].Quota)
	if err != nil {
		return nil, err
	}
	var same *nginx.Zone[keyed.Key]
	if was, ok := z.was[onlyStore].(*nginx.Zone[keyed.Key]); ok {
		same = was.Succeed(r)
	} else if same, err = nginx.NewZone(r, nginx.Options[keyed.Key]{Name: z.keys.Name, MaxKeys: z.keys.MaxKeys}); err != nil {
		return nil, err
	}
	z.stores[onlyStore] = same
	return spread(z, func(use, _ int) *nginx.Limiter[keyed.Key] {
		return same.Limiter(z.uses[use].burst, z.uses[use].delay)
	}), nil
}

// perThousand is the time of a quota of nginx that Scale made: its count is in nginx's own unit, thousandths of
// a request a second.
const perThousand = 1000 * time.Second

// nginxRate returns what nginx keeps of a rate.
func nginxRate(q config.Quota) (nginx.Rate, error) {
	if q.Per == perThousand {
		return nginx.Rate(q.Count), nil
	}
	return nginx.RateOf(q.Count, q.Per)
}

package ruleset

import (
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/keyed"
)

// succeed makes z have the keys of was, which may be nil, if they mean the same.
func (z *zone) succeed(was *zone) {
	if was == nil || was.algorithm != z.algorithm || !was.hasKeysOf(z) {
		return
	}
	z.was, z.from = was.stores, z.quotasNow(was)
	if len(was.uses) == 0 { // the stores' keys have the quotas of when it was last used
		z.from = composed(was.from, z.from)
	}
}

// composed returns what first and then second make of each class.
func composed(first, second []keyed.Class) []keyed.Class {
	both := slices.Clone(first)
	for i, c := range both {
		both[i] = second[c]
	}
	return both
}

// hasKeysOf reports whether both zones make the same key of a request.
func (z *zone) hasKeysOf(other *zone) bool {
	isAddress := func(p part) bool { return p.kind == config.KeyIP }
	same := func(p, q part) bool { return p.kind == q.kind && p.name == q.name }
	return slices.EqualFunc(z.parts, other.parts, same) &&
		(!slices.ContainsFunc(z.parts, isAddress) || z.ipv4 == other.ipv4 && z.ipv6 == other.ipv6)
}

// quotasNow returns what has become of the quotas of was: that of the first override with the quota whose value z has
// too, otherwise that of z itself. A key of which that is not right is carried over once more when it is charged.
func (z *zone) quotasNow(was *zone) []keyed.Class {
	now, by := make([]keyed.Class, len(was.quotas)), make([]int, len(was.quotas))
	for _, t := range was.overrides.tables {
		for key, i := range t.first {
			quota := was.quotaOf[i]
			j, has := z.overrides.place(t.bits, key)
			if has && quota != 0 && (by[quota] == 0 || i < by[quota]-1) {
				now[quota], by[quota] = keyed.Class(z.quotaOf[j]), i+1
			}
		}
	}
	return now
}

// settle does what is left to do when s has taken the place of was, and can no longer fail.
func (s *Set) settle(was *Set, now time.Duration) {
	kept := map[*record]map[storeName]bool{}
	for _, z := range s.zones {
		kept[z.record] = map[storeName]bool{}
		for name, store := range z.stores {
			store.SetMaxKeys(z.keys.MaxKeys)
			store.Settle(now)
			kept[z.record][name] = z.was[name] != nil
		}
	}
	for _, z := range was.zones {
		for name, store := range z.stores {
			if !kept[z.record][name] {
				gone := store.Counters()
				gone.Keys = 0
				z.record.past = plus(z.record.past, gone)
			}
		}
	}
}

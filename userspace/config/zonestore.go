package config

import (
	"slices"

	"github.com/headgate/headgate/userspace/rate"
	"github.com/headgate/headgate/userspace/shared/bounds"
)

// maxLease is how many requests of a key may be taken in advance: enough for a busy key to need few round trips.
const maxLease = 10_000

func stores() []string { return []string{StoreMemory, StoreRedis} }

func storeFailures() []string {
	return []string{string(FailLocal), string(FailOpen), string(FailClosed)}
}

// sharedAlgorithms returns those that count alike in Redis and in memory.
func sharedAlgorithms() []string {
	return []string{string(Leaky), string(Window), string(Sliding), string(Concurrent)}
}

// readStore reads where the keys of a zone are, and what is taken from there in advance.
func (s *section) readStore(z *zone, m mapping) {
	z.Store = m.choice("store", stores(), StoreMemory)
	v := m.field("store")
	switch {
	case z.Store != StoreRedis:
	case !slices.Contains(sharedAlgorithms(), string(z.Algorithm)):
		v.fail("algorithm %s counts in the memory of one machine only; use %s, or remove store", z.Algorithm, either(sharedAlgorithms()))
	case !s.hasRedis:
		v.fail(`there are no servers; add redis: {addrs: ["127.0.0.1:6379"]} at the top of the file, or remove store`)
	}
	z.Lease = m.count("lease", 1, maxLease, 0)
	z.lease = m.field("lease")
	switch {
	case !z.lease.given():
	case z.Store != StoreRedis:
		z.lease.fail("nothing is taken in advance from what is in memory; remove lease, or use store: redis")
	case z.Algorithm == Concurrent:
		z.lease.fail("requests at a time are not taken in advance; remove lease")
	}
}

// checkShared adds errors for what machines cannot share exactly.
func (z *zone) checkShared() {
	if z.Store != StoreRedis {
		return
	}
	z.checkLease()
	for _, r := range z.rates {
		switch z.Algorithm {
		case Window:
			r.at.failFor(bounds.Window(r.Count, r.Per))
		case Sliding:
			r.at.failFor(bounds.Sliding(r.Count, r.Per))
		case Leaky:
			for _, u := range z.uses {
				u.at.field("burst").failFor(bounds.Leaky(r.Count, r.Per, u.Burst))
			}
		}
	}
}

// failFor adds an error, unless it is nil.
func (v value) failFor(err error) {
	if err != nil {
		v.fail("%s", err)
	}
}

// checkLease adds an error for a lease with which one machine would take all that an idle key has.
func (z *zone) checkLease() {
	for _, u := range z.uses {
		if most := z.atOnce(u.Use); z.Lease > 0 && z.Lease >= most {
			z.lease.fail("of a key of which %s may come at one instant, one machine would have all; use a lease of less, or none", rate.FormatCount(most))
			return
		}
	}
}

// warnOfFailure warns of a rule that says what to do in a case that cannot be.
func (s *section) warnOfFailure(r *Rule, m mapping) {
	shared := func(u Use) bool { return s.Zones[u.Zone].Store == StoreRedis }
	if v := m.field("on_store_failure"); v.given() && !slices.ContainsFunc(r.Limits, shared) {
		v.warn("none of the rule's limits is in Redis, and it does nothing; remove it, or use store: redis in a zone of the rule")
	}
}

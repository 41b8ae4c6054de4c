package redisstore

import (
	"time"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/shared"
)

// spend lets limits that units are held for take theirs: these need not be asked for. Where a key is repeated, only Redis
// knows which of the charges counts.
func (s *Store) spend(a *ask, charges []shared.Charge, now time.Duration) {
	for i := range a.each {
		one := &a.each[i]
		if charges[i].Batch == 0 || one.terms.kind == concurrent || a.repeated {
			continue
		}
		h, ok := s.holdings.get(one.id)
		if !ok {
			h = s.holdings.add(one.id, &holding{seen: now}, now)
		}
		one.holding = h
		if one.state, one.number, one.spent = h.spend(one.terms, one.n, now); one.spent {
			a.open--
		}
	}
}

// putBack gives back what was spent of limits that are not charged after all.
func (s *Store) putBack(a *ask) {
	for i := range a.each {
		if one := &a.each[i]; one.spent && !one.charged {
			one.holding.putBack(one.n, one.number, s.clock())
		}
	}
}

// want asks for more of keys that are asked for often. It is of no use where Redis has to be asked for another limit anyway.
func (s *Store) want(a *ask, charges []shared.Charge, now time.Duration) {
	for i := range a.each {
		if a.each[i].holding == nil {
			return
		}
	}
	for i := range a.each {
		if one := &a.each[i]; !one.spent {
			one.want = one.holding.want(min(charges[i].Batch, one.terms.most), now)
		}
	}
}

// got keeps what was taken in advance, at some time since then.
func (s *Store) got(a *ask, then time.Duration) {
	for i := range a.each {
		one := &a.each[i]
		if one.want == 0 {
			continue
		}
		var n uint64
		if one.charged {
			n = one.more
			s.counters.batchesTaken.Add(min(n, 1))
		}
		one.holding.got(one.terms, one.want, n, one.state, then)
	}
}

// refuse reports whether a limit is known to refuse the request, and sets the results if so: nothing is known of the others.
func (s *Store) refuse(a *ask, charges []shared.Charge, now time.Duration) (refused bool) {
	for i := range a.each {
		one, c := &a.each[i], &charges[i]
		c.Result = limit.Result{Allowed: true, Zone: c.Zone, Limit: one.terms.most}
		if one.spent || one.group != 0 {
			continue
		}
		known, ok := s.refusals.get(one.id)
		if !ok {
			continue
		}
		if r, ok := known.repeat(one.terms, one.n, now); ok {
			r.Zone = c.Zone
			c.Result, c.Known, refused = r, true, true
		}
	}
	return refused
}

// remember notes which limits refuse, as found at some time since then. What is known of a key that is charged is no longer so.
func (s *Store) remember(a *ask, charges []shared.Charge, then time.Duration) {
	for i := range a.each {
		one := &a.each[i]
		switch {
		case one.charged:
			s.refusals.drop(one.id)
		case !one.fits && one.group == 0:
			if r, ok := newRefusal(one.terms, one.state, charges[i].Result, then); ok {
				s.refusals.put(one.id, r, then)
			}
		}
	}
}

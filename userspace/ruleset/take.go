package ruleset

import (
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/shared"
)

// take charges a request to its limits in the store, all or none, and reports whether the store has answered. Limits of a rule with
// dry_run that another of its limits has refused are not asked. All is one call, but for a path that is read in two ways, whose
// limits may be of two groups: what the first call has charged is given back if the second is refused, and both together may take
// the time of one.
func (d *Decision) take() bool {
	s := d.sharing
	divided := s.isDivided()
	var spent time.Duration
	for i := range s.asked {
		c := d.newCall(i, false)
		if c.from == c.to {
			continue
		}
		var began time.Time
		if divided {
			began = time.Now()
		}
		if answered := d.takeOf(c, spent); !d.Allowed {
			s.giveBack(d)
			return answered
		}
		if divided {
			spent += time.Since(began)
		}
	}
	return true
}

// takeOf has the store decide about a call, of whose time some was spent before, and reports whether it has.
func (d *Decision) takeOf(c call, spent time.Duration) bool {
	s := d.sharing
	allowed, err := s.store.Take(c.tag, s.charges[c.from:c.to], spent)
	if err == nil {
		d.learn(c)
	}
	passes := d.passes(0)
	d.Allowed = err == nil && allowed && passes
	if err != nil || allowed != passes { // the latter is nonsense
		return false
	}
	s.note(d, c)
	return true
}

// isDivided reports whether the limits in the store are of several groups.
func (s *sharing) isDivided() bool {
	for i := range s.asked {
		if s.asked[i].group != s.asked[0].group {
			return true
		}
	}
	return false
}

// peekShared finds out what the limits in the store say, and charges nothing.
func (d *Decision) peekShared() {
	s := d.sharing
	d.unask()
	for i := range s.asked {
		c := d.newCall(i, true)
		if c.from == c.to {
			continue
		}
		if s.fails = s.store.Peek(c.tag, s.charges[c.from:c.to]) != nil; s.fails {
			d.fail()
			break
		}
		d.learn(c)
	}
	s.calls = emptied(s.calls) // nothing is held
	d.nameWay()
}

// newCall returns the call for the i-th limit in the store and those of its group, which is empty if there was one before. Without all,
// limits that are not to be asked are left out.
func (d *Decision) newCall(i int, all bool) call {
	s := d.sharing
	c := call{tag: s.asked[i].tag, group: s.asked[i].group, from: len(s.charges)}
	for j := range s.asked[:i] {
		if s.asked[j].group == c.group {
			c.to = c.from
			return c
		}
	}
	for j := range s.asked[i:] {
		k := &s.asked[i+j]
		if n := &d.charges[k.limit]; k.group == c.group && (all || d.passes(n.DryRun)) {
			s.of = append(s.of, charged{limit: k.limit})
			s.charges = append(s.charges, shared.Charge{
				Zone: d.Limits[k.limit].Zone, Limit: k.over, Key: d.Limits[k.limit].key, N: n.N, DryRun: n.DryRun, Batch: k.lease,
			})
		}
	}
	if c.to = len(s.charges); c.from == c.to {
		return c
	}
	holds := func(c shared.Charge) bool { return c.Limit.Algorithm == config.Concurrent }
	if slices.ContainsFunc(s.charges[c.from:], holds) {
		c.tag = strings.Clone(c.tag) // the store keeps it as long as it keeps places
	}
	s.calls = append(s.calls, c)
	return c
}

// learn gives the decision what the store has said.
func (d *Decision) learn(c call) {
	s := d.sharing
	for i := c.from; i < c.to; i++ {
		a := &d.Limits[s.of[i].limit]
		a.Store, a.Unknown = Redis, !s.charges[i].Known
		a.Result = s.charges[i].Result
		a.Result.Zone = a.Zone
	}
}

// note notes what a call has charged: the enforced limits, and those of rules with dry_run that have nothing against the request.
func (s *sharing) note(d *Decision, c call) {
	for i := c.from; i < c.to; i++ {
		s.of[i].made = d.Allowed && d.passes(s.charges[i].DryRun)
	}
}

// giveBack gives back what was charged in the store to limits that another one's refusal spares by now. In calls it leaves the charges
// that hold places.
func (s *sharing) giveBack(d *Decision) {
	for i := range s.calls {
		c := &s.calls[i]
		s.back = s.back[:0]
		for j := c.from; j < c.to; j++ {
			if s.of[j].made && !s.stays(d, j) && !s.isCovered(d, c, j) {
				s.back = append(s.back, s.charges[j])
				d.Limits[s.of[j].limit].Unknown = true
			}
		}
		if len(s.back) > 0 {
			s.store.Return(c.tag, s.back)
		}
		s.keepPlaces(d, c)
	}
}

// stays reports whether what was charged for charge i is to stay so.
func (s *sharing) stays(d *Decision, i int) bool {
	return s.of[i].made && d.Allowed && d.passes(s.charges[i].DryRun)
}

// isCovered reports whether the key of charge i was charged once for it and for another one that stays. Who has tried out more units than
// that loses them.
func (s *sharing) isCovered(d *Decision, c *call, i int) bool {
	for j := c.from; j < c.to; j++ {
		if j != i && s.stays(d, j) && s.charges[j].Zone == s.charges[i].Zone && s.charges[j].Key == s.charges[i].Key {
			return true
		}
	}
	return false
}

// keepPlaces leaves in c the charges that hold places until the request ends.
func (s *sharing) keepPlaces(d *Decision, c *call) {
	to := c.from
	for i := c.from; i < c.to; i++ {
		if s.stays(d, i) && s.charges[i].Lease != "" {
			s.charges[to], s.of[to] = s.charges[i], s.of[i]
			to++
		}
	}
	c.to = to
}

// release gives back the places that a request held in the store.
func (s *sharing) release() {
	if !s.released.CompareAndSwap(false, true) {
		return
	}
	for _, c := range s.calls {
		if c.from < c.to {
			s.store.Release(c.tag, s.charges[c.from:c.to])
		}
	}
}

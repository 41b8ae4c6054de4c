package ruleset

import (
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/shared"
)

// sharing is what a decision has of limits that machines share. It is kept for the next request.
type sharing struct {
	store    shared.Store
	asked    []asked
	charges  []shared.Charge // in the order of calls
	of       []charged       // for each charge
	calls    []call
	back     []shared.Charge // what is given back
	here     here
	fails    bool // the store did not answer
	released atomic.Bool
}

// asked is a limit of the decision that is to be asked in the store.
type asked struct {
	limit int // which of the decision's
	tag   string
	group int // limits of another tag's group are asked in another call
	over  shared.Limit
	lease uint64
}

// charged is which limit of the decision a charge is, and whether it was made.
type charged struct {
	limit int
	made  bool
}

// call is charges that are asked at once; after the decision, those that hold places.
type call struct {
	tag      string
	group    int
	from, to int // of sharing.charges
}

// asks reports whether a request has limits that machines share.
func (s *sharing) asks() bool { return s != nil && len(s.asked) > 0 }

// failed reports whether the store was asked, and did not answer.
func (s *sharing) failed() bool { return s != nil && s.fails }

// reset makes s the zero value, but for memory.
func (s *sharing) reset() {
	if !s.asks() {
		return
	}
	if s.fails { // who has not answered in time may still read them
		s.charges = make([]shared.Charge, 0, cap(s.charges))
	}
	s.store, s.fails = nil, false
	s.asked, s.charges, s.of, s.calls, s.back = emptied(s.asked), emptied(s.charges), emptied(s.of), emptied(s.calls), emptied(s.back)
	s.here.reset()
	s.released.Store(false)
}

// addShared notes that the limit that was added last is one that machines share.
func (d *Decision) addShared(z *zone, key string, client netip.Prefix, over shared.Limit) {
	if d.sharing == nil {
		d.sharing = new(sharing)
	}
	s, c := d.sharing, z.common
	a := asked{limit: len(d.Limits) - 1, group: c.tag.group, over: over, lease: c.lease}
	a.tag, d.buf = c.tag.of(z, key, d.texts, client, d.buf)
	s.store, s.asked = c.store, append(s.asked, a)
}

// askShared charges a request to all of its limits, or to none. Those in memory are looked at first, as a request that one of
// them refuses need not go anywhere, and charged last, when the store has charged its own: what does not change meanwhile is
// charged everywhere or nowhere. If one of them refuses by then, the store gives back.
func (d *Decision) askShared(now time.Duration, failed bool) {
	s := d.sharing
	d.unask()
	s.here.reset()
	for i := range d.Limits {
		if d.Limits[i].Store == NotShared {
			s.here.add(d, i)
		}
	}
	if d.Allowed = s.here.ask(d, now); d.Allowed {
		if s.fails = failed || !d.take(); s.fails {
			d.fallBack(now)
		} else if d.Allowed {
			s.here.keepPassing(d)
			d.Allowed = s.here.charge(d, now)
			s.giveBack(d)
		}
	}
	d.nameWay()
}

// unask makes all limits in the store such that nothing is known of and that have nothing against the request.
func (d *Decision) unask() {
	for i := range d.sharing.asked {
		k := &d.sharing.asked[i]
		a := &d.Limits[k.limit]
		a.Store, a.Unknown = NotAsked, true
		a.Result = limit.Result{Allowed: true, Zone: a.Zone, Limit: atOnce(k.over)}
	}
}

// atOnce returns how many units an idle key may send at one instant.
func atOnce(l shared.Limit) uint64 {
	if l.Algorithm == config.Leaky {
		return l.Burst + 1
	}
	return l.Count
}

// nameWay makes the way of the decision the last one of its limits'.
func (d *Decision) nameWay() {
	for i := range d.sharing.asked {
		d.Store = max(d.Store, d.Limits[d.sharing.asked[i].limit].Store)
	}
}

// passes reports whether all limits of a group that was asked, of those that are enforced or of a rule with dry_run, allow it.
func (d *Decision) passes(group int) bool {
	for i := range d.charges {
		if d.charges[i].DryRun == group && !d.Limits[i].Result.Allowed {
			return false
		}
	}
	return true
}

// here is those of a decision's limits that are asked in the memory of this machine.
type here struct {
	charges []keyed.Charge[keyed.Key]
	limits  []int // which of the decision's
}

func (h *here) reset() { h.charges, h.limits = emptied(h.charges), h.limits[:0] }

func (h *here) add(d *Decision, limit int) {
	h.charges, h.limits = append(h.charges, d.charges[limit]), append(h.limits, limit)
}

// keepPassing leaves out limits of rules with dry_run that have refused.
func (h *here) keepPassing(d *Decision) {
	kept := 0
	for i, limit := range h.limits {
		if d.passes(h.charges[i].DryRun) {
			h.charges[kept], h.limits[kept] = h.charges[i], limit
			kept++
		}
	}
	h.charges, h.limits = h.charges[:kept], h.limits[:kept]
}

// ask asks the limits and charges nothing.
func (h *here) ask(d *Decision, now time.Duration) bool {
	allowed := keyed.Ask(h.charges, now)
	h.tell(d)
	return allowed
}

// charge charges the limits, all or none.
func (h *here) charge(d *Decision, now time.Duration) bool {
	allowed := keyed.All(h.charges, now)
	h.tell(d)
	for _, i := range h.limits {
		if a := &d.Limits[i]; a.use.zone.algorithm == config.Concurrent {
			d.leases = append(d.leases, lease{a.limiter, d.charges[i].Key, a.Result})
		}
	}
	return allowed
}

// tell gives the decision what the limits have said.
func (h *here) tell(d *Decision) {
	for i, limit := range h.limits {
		d.charges[limit].Result = h.charges[i].Result
		d.Limits[limit].Result = h.charges[i].Result
	}
}

package keyed

import (
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// Charge is one of several limits on one thing.
type Charge[K comparable] struct {
	Limiter Limiter[K]
	Key     K
	N       uint64 // units
	// DryRun is 0 for a limit that is enforced, else the number of the group that it is
	// tried out with: limits with the same number pass or fail together, and refuse nothing.
	DryRun int
	// Result is set by All. It is what Take returned for limits that were charged. Where they were not
	// because another refused, it is what a refusing limit found, and what one
	// that had nothing against it says of no units.
	Result limit.Result

	place Place
}

// All charges all enforced limits if all of them allow it, and reports whether they do; otherwise it charges
// none. It is one step: no other call sees or changes any of their keys meanwhile.
//
// A group that is tried out is charged if the enforced limits and all of its own allow it.
//
// If one of the limits is superseded, see Store.Succeed, it charges nothing and reports false, and Superseded
// tells so of charges.
//
// The limits are asked in order and charged in reverse, as nginx does. Where several of them keep the same
// key in the same place, all have to allow it, and it is charged once: for the first of those that
// are enforced and have the most units.
func All[K comparable](charges []Charge[K], now time.Duration) bool {
	if len(charges) == 1 && charges[0].DryRun == 0 {
		c := &charges[0]
		c.Result = c.Limiter.Take(c.Key, c.N, now)
		return c.Result.Allowed
	}
	return inOneStep(charges, now, true)
}

// Ask reports whether All would allow charges now, and charges nothing. Results are as of limits that another one has refused: what
// a refusing limit found, and what others say of no units. It counts as having been asked, where limits count that.
func Ask[K comparable](charges []Charge[K], now time.Duration) bool {
	return inOneStep(charges, now, false)
}

func inOneStep[K comparable](charges []Charge[K], now time.Duration, charge bool) bool {
	var some [16]int
	order := inOrder(charges, some[:0])
	lock(charges, order)
	defer unlock(charges, order)

	for i := range charges {
		if ask(charges, i, now); isSuperseded(charges[i].Result) {
			return false
		}
	}
	enforced := passes(charges, 0)
	for i := len(charges) - 1; i >= 0; i-- {
		c := &charges[i]
		switch {
		case !c.Result.Allowed:
		case !charge || !enforced || !passes(charges, c.DryRun):
			c.Result = c.Limiter.Look(c.Key, c.place, 0, now)
		case !isCovered(charges, i):
			c.Result = c.Limiter.Charge(c.Key, c.place, c.N, now)
		}
	}
	return enforced
}

// inOrder returns the indexes of charges in the order in which their locks are taken.
func inOrder[K comparable](charges []Charge[K], order []int) []int {
	for i := range charges {
		c := &charges[i]
		c.place = c.Limiter.Place(c.Key)
		c.place.Last = i == len(charges)-1
		at := len(order)
		order = append(order, i)
		for ; at > 0 && charges[order[at-1]].place.Order > c.place.Order; at-- {
			order[at] = order[at-1]
		}
		order[at] = i
	}
	return order
}

func lock[K comparable](charges []Charge[K], order []int) {
	last := uint64(0) // no lock has it
	for _, i := range order {
		if p := charges[i].place; p.Order != last {
			p.Lock.Lock()
			last = p.Order
		}
	}
}

func unlock[K comparable](charges []Charge[K], order []int) {
	last := uint64(0)
	for _, i := range order {
		if p := charges[i].place; p.Order != last {
			p.Lock.Unlock()
			last = p.Order
		}
	}
}

// ask asks limit i, and only looks if what it belongs to is refused already: then it is not used.
func ask[K comparable](charges []Charge[K], i int, now time.Duration) {
	c := &charges[i]
	before := charges[:i]
	if passes(before, 0) && passes(before, c.DryRun) {
		c.Result = c.Limiter.Ask(c.Key, c.place, c.N, now)
	} else {
		c.Result = c.Limiter.Look(c.Key, c.place, c.N, now)
	}
}

// passes reports whether all limits of a group allow it.
func passes[K comparable](charges []Charge[K], group int) bool {
	for i := range charges {
		if charges[i].DryRun == group && !charges[i].Result.Allowed {
			return false
		}
	}
	return true
}

// isCovered reports whether another limit that is charged keeps the same key in the same place, and is
// charged instead of i.
func isCovered[K comparable](charges []Charge[K], i int) bool {
	c := &charges[i]
	for j := range charges {
		other := &charges[j]
		if i == j || other.place.Order != c.place.Order || other.Key != c.Key || !passes(charges, other.DryRun) {
			continue
		}
		if other.goesBefore(c) || !c.goesBefore(other) && j < i {
			return true
		}
	}
	return false
}

// goesBefore reports whether c rather than other is charged, of two with the same key, because it is
// the only one that is enforced, or has more units.
func (c *Charge[K]) goesBefore(other *Charge[K]) bool {
	if enforced := c.DryRun == 0; enforced != (other.DryRun == 0) {
		return enforced
	}
	return c.N > other.N
}

package redisstore

import (
	"strconv"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/shared"
)

// decide says of each limit what keyed.All does, of the states that were found: the scripts tell no more than those. It returns
// whether all enforced limits allow it.
func (a *ask) decide(charges []shared.Charge) (allowed bool) {
	for i := range a.each {
		one, c := &a.each[i], &charges[i]
		_, c.Result = one.terms.take(one.state, one.n)
		if one.spent && !c.Result.Allowed { // it is paid for, whatever else is known
			_, c.Result = one.terms.take(one.state, 0)
		}
		c.Result.Zone, c.Known = c.Zone, true
		one.fits = c.Result.Allowed
	}
	enforced := a.passes(0)
	for i := len(a.each) - 1; i >= 0; i-- {
		one, c := &a.each[i], &charges[i]
		switch {
		case !one.fits:
		case !enforced || !a.passes(one.group):
			_, c.Result = one.terms.take(one.state, 0)
			c.Result.Zone = c.Zone
		case one.n > 0 && !a.covered(i):
			a.charge(i)
		}
	}
	return enforced
}

// passes reports whether all limits of a group allow it.
func (a *ask) passes(group byte) bool {
	for i := range a.each {
		if a.each[i].group == group && !a.each[i].fits {
			return false
		}
	}
	return true
}

// covered reports whether a limit with the same key is charged instead of i: the first of those that are enforced and have most units.
func (a *ask) covered(i int) bool {
	if !a.repeated {
		return false
	}
	one := &a.each[i]
	for j := range a.each {
		other := &a.each[j]
		if i == j || other.id != one.id || !a.passes(other.group) {
			continue
		}
		if other.goesBefore(one) || !one.goesBefore(other) && j < i {
			return true
		}
	}
	return false
}

func (a *asked) goesBefore(other *asked) bool {
	if (a.group == 0) != (other.group == 0) {
		return a.group == 0
	}
	return a.n > other.n
}

// charge notes that i is charged, which changes what is said of the same key after that.
func (a *ask) charge(i int) {
	one := &a.each[i]
	one.charged, one.before = true, one.state
	state, _ := one.terms.take(one.state, one.n)
	for j := range a.each {
		if other := &a.each[j]; other.id == one.id {
			other.state = state
		}
	}
}

// disown undoes decide.
func (a *ask) disown(charges []shared.Charge) {
	for i := range a.each {
		a.each[i].charged = false
		charges[i].Result, charges[i].Known = limit.Result{}, false
	}
}

// note sets what is needed to take back what was charged.
func (a *ask) note(charges []shared.Charge, lease string) {
	for i := range a.each {
		one, c := &a.each[i], &charges[i]
		switch {
		case !one.charged:
		case one.terms.kind == concurrent:
			c.Lease = lease + "/" + strconv.Itoa(i)
		default:
			c.Result = c.Result.WithUndo(one.undo(a.now))
		}
	}
}

package fleet

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// mostTries bounds how often a kernel is asked that refuses rules, so that many of those do not hold it up. What was not
// asked then is asked next time.
const mostTries = 64

// enforce makes the rules of the kernel those without a verdict, if they are others than it was told, or if it is to be
// told again. One that the kernel does not take has a verdict then. An error says that it takes none, or that it could not
// be asked about all.
func (a *follower) enforce(winners []*record, now time.Time, again bool) error {
	if !a.follows() {
		return nil
	}
	rules := make([]*record, 0, len(winners))
	for _, r := range winners {
		if r.verdict == "" {
			rules = append(rules, r)
		}
	}
	if !again && a.told && a.tells(rules, now) {
		return nil
	}
	t := attempt{follower: a, now: now}
	err := t.set(rules)
	if err != nil {
		err = t.apart(rules, err)
	}
	if t.some {
		a.note(t.in)
	}
	return err
}

// tells reports whether the kernel was told these rules, and no others.
func (a *follower) tells(rules []*record, now time.Time) bool {
	for _, r := range rules {
		if !r.inForce {
			return false
		}
	}
	there := 0
	for _, r := range a.inForce {
		if !r.ended(now) {
			there++
		}
	}
	return there == len(rules)
}

// note notes and tells what the kernel has.
func (a *follower) note(rules []*record) {
	a.tellInForce(rules)
	for _, r := range a.inForce {
		r.inForce = false
	}
	for _, r := range rules {
		r.inForce = true
	}
	a.tellUnset(a.inForce)
	a.inForce, a.told = rules, true
}

// attempt finds out which rules a kernel takes that does not take all.
type attempt struct {
	*follower
	now   time.Time
	in    []*record // what it has taken last
	some  bool      // it has taken something
	calls int
}

// set makes the rules of the kernel these.
func (t *attempt) set(records []*record) error {
	t.calls++
	rules := make([]Rule, len(records))
	for i, r := range records {
		rules[i] = r.rule
		rules[i].For = r.left(t.now)
	}
	if err := t.o.Kernel.SetFleet(rules); err != nil {
		return err
	}
	t.in, t.some = records, true
	return nil
}

// apart tells the kernel first what it has taken before, to see whether it takes anything, and then the others.
func (t *attempt) apart(rules []*record, why error) error {
	var old, fresh []*record
	for _, r := range rules {
		if r.inForce {
			old = append(old, r)
		} else {
			fresh = append(fresh, r)
		}
	}
	if len(fresh) == 0 || t.set(old) != nil {
		return why
	}
	slices.SortFunc(fresh, func(a, b *record) int { return a.prefix.Compare(b.prefix) })
	return t.add(fresh, why)
}

// add tells the kernel more rules: all of them, or each half, down to those that it refuses.
func (t *attempt) add(fresh []*record, why error) error {
	if t.calls > mostTries {
		return fmt.Errorf("the kernel was asked %d times: %w", t.calls, why)
	}
	err := t.set(slices.Concat(t.in, fresh))
	if err == nil {
		return nil
	}
	if len(fresh) == 1 {
		fresh[0].answer = "the kernel does not take it: " + err.Error() // until it is asked again
		fresh[0].verdict = fresh[0].answer
		return nil
	}
	half := len(fresh) / 2
	return errors.Join(t.add(fresh[:half], why), t.add(fresh[half:], why))
}

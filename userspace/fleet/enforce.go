package fleet

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// mostTries bounds how often a kernel is asked that refuses rules, so that many of those do not hold it up. What was not
// asked then is asked next time.
const mostTries = 64

// enforce makes the rules of the kernel these, if they are others than it was told, or if it is to be told again. It
// returns those that the kernel does not take, and an error if it takes none, or could not be asked about all.
func (a *follower) enforce(rules map[netip.Prefix]*record, now time.Time, again bool) (refused map[*record]string, err error) {
	if !a.follows() || !again && a.tells(rules, now) {
		return nil, nil
	}
	tries := attempt{follower: a, now: now, refused: map[*record]string{}}
	err = tries.set(slices.Collect(maps.Values(rules)))
	if err != nil {
		if err = tries.apart(rules, err); err != nil && !tries.some {
			return nil, err
		}
	}
	a.tellInForce(tries.in)
	a.inForce = map[netip.Prefix]*record{}
	for _, r := range tries.in {
		a.inForce[r.prefix] = r
	}
	return tries.refused, err
}

// tells reports whether the kernel was told these rules.
func (a *follower) tells(rules map[netip.Prefix]*record, now time.Time) bool {
	for p, r := range rules {
		if a.inForce[p] != r {
			return false
		}
	}
	for p, r := range a.inForce {
		if rules[p] == nil && !r.ended(now) {
			return false
		}
	}
	return a.inForce != nil
}

// attempt finds out which rules a kernel takes that does not take all.
type attempt struct {
	*follower
	now     time.Time
	in      []*record // what it has taken last
	some    bool      // it has taken something
	refused map[*record]string
	calls   int
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
func (t *attempt) apart(rules map[netip.Prefix]*record, why error) error {
	var old, fresh []*record
	for p, r := range rules {
		if t.inForce[p] == r {
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
	if err := t.set(slices.Concat(t.in, fresh)); err == nil {
		return nil
	} else if len(fresh) == 1 {
		t.refused[fresh[0]] = "the kernel does not take it: " + err.Error()
		return nil
	}
	half := len(fresh) / 2
	return errors.Join(t.add(fresh[:half], why), t.add(fresh[half:], why))
}

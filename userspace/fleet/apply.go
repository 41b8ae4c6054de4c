package fleet

import (
	"cmp"
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// apply gives the kernel the rules of the fleet, if there is something that it does not know.
func (a *follower) apply() error {
	if !a.known {
		return nil // what the kernel has from before is better than nothing
	}
	now := time.Now()
	again := !now.Before(a.askAt)
	due := !a.hiddenAt.IsZero() && !now.Before(a.hiddenAt)
	if !again && !due && !a.dirty {
		s := *a.standing.Load()
		s.epoch, s.version = a.epoch, a.version
		a.standing.Store(&s)
		return nil
	}
	a.view.sweep(now)
	winners, next := a.view.winners()
	verdicts, err := a.judge(winners, again)
	if err != nil {
		return err
	}
	refused, err := a.enforce(admitted(winners, verdicts), now, again)
	for r, reason := range refused {
		verdicts[r], a.answers[r] = reason, reason
	}
	a.tellSpared(verdicts)
	a.verdicts = verdicts
	if err != nil {
		return err
	}
	if again {
		a.askAt = now.Add(askEvery)
	}
	a.dirty, a.hiddenAt = false, next
	a.stand(winners)
	return nil
}

// judge returns why rules must not be in force here: empty for those that may. What protects a prefix is as it was until it
// is asked again.
func (a *follower) judge(winners map[netip.Prefix]*record, again bool) (map[*record]string, error) {
	verdicts := make(map[*record]string, len(winners))
	if !a.follows() {
		return verdicts, nil
	}
	allowed, answers := newAllowed(winners), make(map[*record]string, len(winners))
	for _, r := range winners {
		if r.rule.Action == config.Allow {
			continue
		}
		reason, known := a.answers[r]
		if !known || again {
			var err error
			if reason, err = a.protection(r.prefix); err != nil {
				return nil, err
			}
		}
		answers[r] = reason
		verdicts[r] = cmp.Or(reason, allowed.reason(r.prefix))
	}
	a.answers = answers
	return verdicts, nil
}

// protection returns what on this machine protects a prefix.
func (a *follower) protection(prefix netip.Prefix) (string, error) {
	if reason := a.o.Spare(prefix); reason != "" {
		return reason, nil
	}
	return a.o.Kernel.Protected(prefix)
}

// allowed are the prefixes that the fleet allows, and how long they are.
type allowed struct {
	prefixes map[netip.Prefix]struct{}
	bits     map[int]struct{}
}

func newAllowed(winners map[netip.Prefix]*record) allowed {
	all := allowed{map[netip.Prefix]struct{}{}, map[int]struct{}{}}
	for p, r := range winners {
		if r.rule.Action == config.Allow {
			all.prefixes[p], all.bits[p.Bits()] = struct{}{}, struct{}{}
		}
	}
	return all
}

// reason names a rule of the fleet that allows all of a prefix.
func (all allowed) reason(p netip.Prefix) string {
	for bits := range all.bits {
		if bits > p.Bits() {
			continue
		}
		wide, err := p.Addr().Prefix(bits)
		if err != nil {
			continue // of the other kind of addresses
		}
		if _, is := all.prefixes[wide]; is {
			return "an allow rule for " + wide.String() + " (fleet)"
		}
	}
	return ""
}

// admitted returns those that nothing speaks against.
func admitted(winners map[netip.Prefix]*record, verdicts map[*record]string) map[netip.Prefix]*record {
	in := make(map[netip.Prefix]*record, len(winners))
	for p, r := range winners {
		if verdicts[r] == "" {
			in[p] = r
		}
	}
	return in
}

// stand tells the others, and Status, how far this is, and how late the changes came that are in force now.
func (a *follower) stand(winners map[netip.Prefix]*record) {
	s := *a.standing.Load()
	s.epoch, s.version, s.rules, s.spared = a.epoch, a.version, len(winners), 0
	for _, r := range winners {
		if a.verdicts[r] != "" {
			s.spared++
		}
	}
	if a.newest > 0 {
		s.delay = max(time.Since(a.clock.when(a.newest)), 0)
		a.newest = 0
	}
	a.standing.Store(&s)
}

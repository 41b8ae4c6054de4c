package fleet

import (
	"cmp"
	"context"
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// apply gives the kernel the rules of the fleet, if there is something that it does not know.
func (a *follower) apply(ctx context.Context) error {
	if !a.known {
		return nil // what the kernel has from before is better than nothing
	}
	if err := a.lift(); err != nil {
		return err
	}
	now := time.Now()
	if a.again.Swap(false) {
		a.askAt = now
	}
	again := !now.Before(a.askAt)
	due := !a.hiddenAt.IsZero() && !now.Before(a.hiddenAt)
	if !again && !due && !a.dirty {
		s := *a.standing.Load()
		s.epoch, s.version = a.epoch, a.version
		a.standing.Store(&s)
		return nil
	}
	winners, next := a.view.winners(now)
	if err := a.judge(ctx, winners, again); err != nil {
		return err
	}
	err := a.enforce(winners, now, again)
	a.tellSpared(winners)
	a.show(winners)
	if err != nil {
		return err
	}
	if again {
		a.askAt = now.Add(askEvery)
	}
	a.dirty, a.hiddenAt = false, next
	a.stand()
	return nil
}

// lift has the kernel forget what this machine handed down itself, where somebody has taken that back for all. Whoever
// published it has it from his own hand-down, and so may others that have seen the same offender.
func (a *follower) lift() error {
	if len(a.lifted) > 0 && a.follows() {
		if err := a.o.Kernel.Lift(a.lifted); err != nil {
			return err
		}
	}
	a.lifted = nil
	return nil
}

// judge decides until ctx ends which rules must not be in force here. What protects a prefix is as it was until it is asked again.
func (a *follower) judge(ctx context.Context, winners []*record, again bool) error {
	if !a.follows() {
		return nil
	}
	allowed := newAllowed(winners)
	for _, r := range winners {
		if err := ctx.Err(); err != nil {
			return err // of very many rules that takes long
		}
		if r.rule.Action == config.Allow {
			continue
		}
		if !r.asked || again {
			var err error
			if r.answer, err = a.protection(r.prefix); err != nil {
				return err
			}
			r.asked = true
		}
		r.verdict = cmp.Or(r.answer, allowed.reason(r.prefix))
	}
	return nil
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

func newAllowed(winners []*record) allowed {
	all := allowed{map[netip.Prefix]struct{}{}, map[int]struct{}{}}
	for _, r := range winners {
		if r.rule.Action == config.Allow {
			all.prefixes[r.prefix], all.bits[r.prefix.Bits()] = struct{}{}, struct{}{}
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

// stand tells the others, and Status, how far this is, and how late the changes came that are in force now.
func (a *follower) stand() {
	s := *a.standing.Load()
	s.epoch, s.version = a.epoch, a.version
	if a.newest > 0 {
		s.delay = max(time.Since(a.clock.when(a.newest)), 0)
		a.newest = 0
	}
	a.standing.Store(&s)
}

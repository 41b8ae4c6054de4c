package handdown

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
)

const (
	// mostRules are how many rules are made in one call at most.
	mostRules = 1024
	// leastWait and mostWait are how long a kernel that took no rule is left alone.
	leastWait = 100 * time.Millisecond
	mostWait  = 10 * time.Second
	// compareEvery is how often the kernel is asked which rules it has: somebody may have removed some.
	compareEvery = time.Minute
)

// Run hands offenders down until ctx ends: at once, or together those that come while the kernel makes rules. What the
// kernel does not take is tried again. Rules in force stay when Run ends.
func (h *HandDown) Run(ctx context.Context) {
	r := runner{HandDown: h, most: mostRules}
	r.compare()
	compare := time.NewTicker(compareEvery)
	defer compare.Stop()
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-compare.C:
			r.compare()
			continue
		case e := <-h.notices:
			r.tellOfProxy(e)
			continue
		case <-h.queue.wake:
			if r.wait > 0 {
				continue // until the retry
			}
		case <-retry.C:
		}
		r.work(ctx)
		if r.wait > 0 {
			retry.Reset(r.wait)
		}
	}
}

// runner is the one who makes rules.
type runner struct {
	*HandDown
	waiting []candidate
	most    int           // rules in a call; fewer after an error, so that one that is refused does not hold up others
	wait    time.Duration // after an error; 0 if there was none
	full    time.Duration // when it is said again that there are too many rules
}

// order is a candidate and the rule for it.
type order struct {
	candidate
	rule   Rule
	strike int
}

// work decides about all candidates, or about as many as the kernel lets.
func (r *runner) work(ctx context.Context) {
	progress := false
	for ctx.Err() == nil {
		r.waiting = r.queue.take(r.waiting)
		if len(r.waiting) == 0 {
			r.well()
			return
		}
		n := min(r.most, len(r.waiting))
		batch := r.waiting[:n:n]
		r.waiting = r.waiting[n:]
		if failed, err := r.hand(batch); err != nil {
			r.waiting = append(r.waiting, failed...)
			r.most = max(1, n/2)
			r.unwell(err, progress)
			return
		}
		progress = true
	}
}

// well notes that the kernel takes rules.
func (r *runner) well() {
	if r.wait > 0 {
		r.o.Log.Info("the kernel takes rules for offenders again")
	}
	r.wait, r.most = 0, mostRules
}

// unwell notes that it does not, or takes some and not others.
func (r *runner) unwell(err error, progress bool) {
	if r.wait == 0 {
		r.o.Log.Error("no rule for offenders; it is tried again", "error", err, "offenders", len(r.waiting))
	}
	if progress {
		r.wait = 0
	}
	r.wait = min(max(2*r.wait, leastWait), mostWait)
}

// hand decides about candidates and makes the rules. It returns those about which it could not.
func (r *runner) hand(batch []candidate) (failed []candidate, err error) {
	s := r.settings.Load()
	var orders []order
	var rules []Rule
	for _, c := range batch {
		o, made, judgeErr := r.judge(c, s, len(orders))
		switch {
		case judgeErr != nil:
			failed, err = append(failed, c), judgeErr
		case made:
			orders, rules = append(orders, o), append(rules, o.rule)
		}
	}
	if len(rules) > 0 && !s.DryRun {
		if enforceErr := r.o.Kernel.Enforce(rules); enforceErr != nil {
			for _, o := range orders {
				failed = append(failed, o.candidate)
			}
			return failed, errors.Join(enforceErr, err)
		}
		r.o.Share(rules)
	}
	for _, o := range orders {
		r.made(o, s)
	}
	return failed, err
}

// judge returns the rule for a candidate, if one is to be made: `before` are about to be as well.
func (r *runner) judge(c candidate, s *settings, before int) (o order, made bool, err error) {
	if c.doubt {
		r.isGone(c.prefix, s)
		return order{}, false, nil
	}
	now := r.now()
	if t, holds := r.force.of(c.prefix, now, s.DryRun); holds && (t.dry || !r.isGone(c.prefix, s)) {
		r.resume(c.prefix, t, s)
		return order{}, false, nil
	}
	covered, err := r.covered(c.prefix, s)
	if err != nil || covered {
		return order{}, false, err
	}
	strike := r.strike(c.prefix, s)
	why := r.exempt(c.offence.Addr, c.prefix, s)
	detail := ""
	switch {
	case why != "":
	case now-c.since >= s.period(strike):
		why = Failed
	case r.force.len(now)+before >= s.MaxRules:
		why = Full
	default:
		if detail, err = r.o.Kernel.Protected(c.prefix); err != nil {
			return order{}, false, err
		}
		if detail != "" {
			why = Protected
		}
	}
	if why != "" {
		r.spare(c, why, detail, s)
		return order{}, false, nil
	}
	rule := Rule{Prefix: c.prefix, Action: s.Action, Limit: s.Limit, For: s.period(strike)}
	return order{c, rule, strike}, true, nil
}

// covered reports whether the fleet keeps a source away already as a rule of this machine would, and if so takes that for
// one, so that none is made and shared once more. It is no strike: that counts where it was handed down, if it was. A rule of
// the fleet may hold for good; it is looked at again.
func (r *runner) covered(prefix netip.Prefix, s *settings) (bool, error) {
	rule, err := r.o.Kernel.FleetRule(prefix)
	if err != nil || rule.For <= 0 || rule.Action != config.Block && s.Action != config.Limit {
		return false, err
	}
	left := min(rule.For, s.Max)
	r.offenders.with(sourceOf(prefix), r.now(), s, func(o *offender, now time.Duration) {
		o.strike(now, now+left, false)
		o.strikes--
	})
	r.answer(prefix, Outcome{Result: HandedDown, For: left})
	return true, nil
}

// strike returns which strike of a source the next is, 1 for the first.
func (r *runner) strike(prefix netip.Prefix, s *settings) (n int) {
	r.offenders.with(sourceOf(prefix), r.now(), s, func(o *offender, now time.Duration) {
		o.forgive(now, s)
		n = o.strikes + 1
	})
	return n
}

// resume notes that a source has a rule already.
func (r *runner) resume(prefix netip.Prefix, t term, s *settings) {
	now := r.now()
	r.offenders.with(sourceOf(prefix), now, s, func(o *offender, now time.Duration) {
		o.strike(now, t.until, t.dry)
		o.strikes = max(o.strikes-1, s.strikes(t.until-now)) // it is no other than before
	})
	r.answer(prefix, Outcome{Result: HandedDown, For: t.until - now})
}

// made notes and tells that a rule was made.
func (r *runner) made(o order, s *settings) {
	until := r.now() + o.rule.For
	r.offenders.with(sourceOf(o.prefix), r.now(), s, func(f *offender, now time.Duration) { f.strike(now, until, s.DryRun) })
	r.force.add(o.prefix, until, s.DryRun)
	r.counts.rule(o.rule.Action)
	r.tell(event.HandedDown, o.candidate, o.reason(s), o.rule.For)
	r.o.Log.Info("a source was handed down", "source", o.prefix.String(), "origin", string(o.offence.Origin),
		"reason", o.reason(s), "rule", o.offence.Rule, "zone", o.offence.Zone, "action", string(o.rule.Action),
		"for", o.rule.For.String(), "strike", o.strike, "dry_run", s.DryRun)
	r.answer(o.prefix, Outcome{Result: HandedDown, For: o.rule.For})
}

// compare makes the rules in force what the kernel says.
func (r *runner) compare() {
	s := r.settings.Load()
	rules, err := r.o.Kernel.HandedDown()
	if err != nil {
		r.o.Log.Error("rules of offenders cannot be read; those known are taken to be in force", "error", err)
		return
	}
	now := r.now()
	ends := make(map[netip.Prefix]time.Duration, len(rules))
	for _, rule := range rules {
		ends[rule.Prefix] = now + rule.For
		if _, known := r.force.of(rule.Prefix, now, false); !known {
			r.resume(rule.Prefix, term{until: now + rule.For}, s)
		}
	}
	for _, prefix := range r.force.replace(now, ends, s.DryRun) {
		r.lift(prefix, s)
	}
}

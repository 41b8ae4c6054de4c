package plane

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/fleet"
	"github.com/headgate/headgate/userspace/handdown"
)

// ruleKey is where there is room for one rule.
type ruleKey struct {
	prefix netip.Prefix
	action rulemap.Action
}

// fleetRules are the rules of a fleet that are in force, as this process knows them. To read a million rules takes a second,
// so they are read as seldom as a ruleIndex is, and in between they are what SetFleet has made of them. What somebody
// removed meanwhile by hand is back after that.
type fleetRules struct {
	of       *loader.Instance // whose they are
	held     aged[map[ruleKey]rulemap.Rule]
	declined map[ruleKey]string // rules that are not for this machine, and why
}

// SetFleet makes the rules of the fleet these, all of them or none: what is new is written, and what is not among them is
// removed. What a command or the file says at the same prefix goes first, and so does a hand-down here that lasts longer. It is
// made up for by a later call when that has ended. A rule that this machine cannot have, as it is for a part of a source, or
// that was handed down elsewhere and is allowed here, is left out and logged. It waits for a command that changes the
// instance, at most as long as Options says.
func (p *Plane) SetFleet(rules []fleet.Rule) error {
	return refused(p.changed(func(i *loader.Instance) error {
		config, err := i.Policies().InForce(bootTime())
		if err != nil {
			return err
		}
		held, err := p.heldOfFleet(i)
		if err != nil {
			return err
		}
		wanted, err := p.wantedOfFleet(i, rules, &config)
		if err != nil {
			return err
		}
		return p.exchange(i, held, wanted, &config)
	}))
}

// heldOfFleet returns the rules of the fleet that are in force. Only who has changing may use it.
func (p *Plane) heldOfFleet(i *loader.Instance) (map[ruleKey]rulemap.Rule, error) {
	if p.fleet.of != i {
		p.fleet.of = i
		p.fleet.held.forget()
	}
	return p.fleet.held.get(p.options.Now, func() (map[ruleKey]rulemap.Rule, error) {
		held := map[ruleKey]rulemap.Rule{}
		for r, err := range i.Rules().All() {
			if err != nil {
				return nil, err
			}
			if ofFleet(r.Origin) {
				held[ruleKey{r.Prefix, r.Action}] = r
			}
		}
		return held, nil
	})
}

func ofFleet(o rulemap.Origin) bool { return o == rulemap.Fleet || o == rulemap.FleetHandDown }

// wantedOfFleet translates the rules that this machine can have, and tells of others, once.
func (p *Plane) wantedOfFleet(i *loader.Instance, rules []fleet.Rule, config *policymap.Config) (map[ruleKey]rulemap.Rule, error) {
	allowed, err := p.allowedBeside(i, rules)
	if err != nil {
		return nil, err
	}
	now := bootTime()
	wanted, declined := make(map[ruleKey]rulemap.Rule, len(rules)), map[ruleKey]string{}
	for _, r := range rules {
		rule := fleetRule(r, config, now)
		key := ruleKey{rule.Prefix, rule.Action}
		switch reason := declines(rule, allowed, config); {
		case reason != "":
			declined[key] = reason
		case rule.Until > now:
			wanted[key] = rule
		}
	}
	for key, reason := range declined {
		if p.fleet.declined[key] != reason {
			p.log.Info("a rule of the fleet is not in force here", "prefix", key.prefix.String(), "action", key.action.String(), "reason", reason)
		}
	}
	p.fleet.declined = declined
	return wanted, nil
}

// allowedBeside returns what people allow: by rules of this machine, and by those of the fleet that are to be.
func (p *Plane) allowedBeside(i *loader.Instance, rules []fleet.Rule) (*rulemap.Allowed, error) {
	index, err := p.index(i)
	if err != nil {
		return nil, err
	}
	allowed, now := &rulemap.Allowed{}, bootTime()
	for _, r := range index.allowed {
		if !ofFleet(r.Origin) && r.Until > now {
			allowed.Add(r)
		}
	}
	for _, r := range rules {
		if r.Action == config.Allow && r.For >= 0 {
			allowed.Add(rulemap.Rule{Prefix: wire.Prefix(r.Prefix), Action: rulemap.Allow, Origin: rulemap.Fleet})
		}
	}
	return allowed, nil
}

// fleetRule translates a rule.
func fleetRule(r fleet.Rule, config *policymap.Config, now uint64) rulemap.Rule {
	rule := rulemap.Rule{Prefix: wire.Prefix(r.Prefix), Action: actionOf(r.Action), Until: rulemap.Forever, Origin: rulemap.FleetHandDown}
	if r.Person || rule.Action == rulemap.Allow { // no machine allows
		rule.Origin = rulemap.Fleet
	}
	if r.For != 0 {
		rule.Until = now + uint64(max(r.For, 0))
	}
	if rule.Action == rulemap.Limit {
		policy, _ := config.Policy(policymap.Default)
		rule.Limit, rule.PolicyID = limitOf(r.Limit), policy.ID()
	}
	return rule
}

// declines returns why this machine does not have a rule; empty if it does.
func declines(r rulemap.Rule, allowed *rulemap.Allowed, config *policymap.Config) string {
	if r.Origin == rulemap.FleetHandDown && allowed.Contain(r.Prefix) {
		return "an allow rule has to do with it"
	}
	if r.Action != rulemap.Limit {
		return ""
	}
	_, err := r.Limit.Compile()
	if err == nil && r.Limit.IsZero() {
		err = errors.New("it limits nothing")
	}
	if err = cmp.Or(err, partHint(config.CheckWhole(r.Prefix))); err != nil {
		return err.Error()
	}
	return ""
}

// exchange makes the rules that are held those that are wanted.
func (p *Plane) exchange(i *loader.Instance, held, wanted map[ruleKey]rulemap.Rule, config *policymap.Config) error {
	old, fresh := difference(held, wanted)
	if len(old) == 0 && len(fresh) == 0 {
		return nil
	}
	left, lifted, err := i.Rules().Exchange(old, fresh, nil)
	if err != nil {
		return err
	}
	for _, r := range old {
		delete(held, ruleKey{r.Prefix, r.Action})
	}
	for _, r := range fresh {
		held[ruleKey{r.Prefix, r.Action}] = r
	}
	for _, r := range left {
		delete(held, ruleKey{r.Prefix, r.Action})
	}
	made := slices.DeleteFunc(dropping(fresh), func(r rulemap.Rule) bool { _, in := held[ruleKey{r.Prefix, r.Action}]; return !in })
	p.noticeLifted(rulemap.Done{Lifted: lifted})
	p.forgetAllowed(old, fresh)
	if err := disprove(i, made, config); err != nil {
		p.log.Warn("sources that the fleet drops stay verified until their time is over", "error", err) // the rules are in force
	}
	return nil
}

// difference returns the rules of held that are not wanted, and those wanted that are not held. Ends that are nearly the same
// are, so that not all rules are written again and again.
func difference(held, wanted map[ruleKey]rulemap.Rule) (old, fresh []rulemap.Rule) {
	for key, h := range held {
		if w, stays := wanted[key]; !stays || w.Origin != h.Origin {
			old = append(old, h)
		}
	}
	for key, w := range wanted {
		h, there := held[key]
		if h.Until = w.Until; !there || h != w || !rulemap.SameEnd(held[key].Until, w.Until) {
			fresh = append(fresh, w)
		}
	}
	return old, fresh
}

// dropping returns the rules that may drop something.
func dropping(rules []rulemap.Rule) (all []rulemap.Rule) {
	for _, r := range rules {
		if r.Action != rulemap.Allow {
			all = append(all, r)
		}
	}
	return all
}

// forgetAllowed has what is allowed read again, where that is other than before.
func (p *Plane) forgetAllowed(old, fresh []rulemap.Rule) {
	if len(dropping(old)) < len(old) || len(dropping(fresh)) < len(fresh) {
		p.rules.forget()
	}
}

// Lift removes the rules of origin handdown at these very prefixes, if there are some. A hand-down notices by Enforced.
func (p *Plane) Lift(prefixes []netip.Prefix) error {
	old := make([]rulemap.Rule, 0, 2*len(prefixes))
	for _, prefix := range prefixes {
		for _, action := range []rulemap.Action{rulemap.Block, rulemap.Limit} {
			old = append(old, rulemap.Rule{Prefix: prefix, Action: action, Origin: rulemap.HandDown})
		}
	}
	return p.changed(func(i *loader.Instance) error {
		_, _, err := i.Rules().Exchange(old, nil, nil)
		return err
	})
}

// FleetRules returns the rules of the fleet that are in force. It reads all rules.
func (p *Plane) FleetRules() ([]fleet.Rule, error) {
	var all []fleet.Rule
	err := p.reading(func(i *loader.Instance) error {
		now := bootTime()
		for r, err := range i.Rules().All() {
			if err != nil {
				return err
			}
			if ofFleet(r.Origin) {
				all = append(all, keptRule(r, now))
			}
		}
		return nil
	})
	return all, err
}

// keptRule returns a rule of the fleet as it was told; not by whom, and why.
func keptRule(r rulemap.Rule, now uint64) fleet.Rule {
	kept := fleet.Rule{
		Prefix: r.Prefix, Action: configAction(r.Action), Limit: kernelLimitOf(r.Limit), Person: r.Origin == rulemap.Fleet,
	}
	if r.Until != rulemap.Forever {
		kept.For = time.Duration(min(r.Until-min(now, r.Until), 1<<63-1))
	}
	return kept
}

// FleetRule returns the rule of the fleet that decides about packets of that very prefix, if it drops some; the zero Rule
// where there is none.
func (p *Plane) FleetRule(prefix netip.Prefix) (rule handdown.Rule, err error) {
	err = p.reading(func(i *loader.Instance) error {
		rules, err := i.Rules().Get(prefix)
		if err != nil || len(rules) == 0 || rules[0].Action == rulemap.Allow || !ofFleet(rules[0].Origin) {
			return err
		}
		rule = offenderRule(rules[0], bootTime())
		return nil
	})
	return rule, err
}

package plane

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/handdown"
)

// Enforce makes rules of origin handdown, all of them or none, in force when it returns. What a command or the file says
// at the same prefix goes first, and so does an allow rule that has come since Protected was asked. It waits for a
// command that changes the instance, at most as long as Options says.
func (p *Plane) Enforce(rules []handdown.Rule) error {
	return p.changed(func(i *loader.Instance) error {
		config, err := i.Policies().InForce(bootTime())
		if err != nil {
			return err
		}
		now := bootTime()
		var made []rulemap.Rule
		for _, r := range rules {
			rule, err := handedDown(r, &config, now)
			if err != nil {
				return err
			}
			reason, err := allowedWhole(i, rule.Prefix)
			if err != nil {
				return err
			}
			if reason != "" {
				p.log.Info("no rule for an offender", "source", rule.Prefix.String(), "reason", reason)
				continue
			}
			made = append(made, rule)
		}
		if _, err = i.Rules().SetAll(made, nil); err != nil {
			return err
		}
		if err := disprove(i, made, &config); err != nil {
			p.log.Warn("offenders stay verified until their time is over", "error", err) // the rules are in force
		}
		return nil
	})
}

// handedDown translates a rule of an offender.
func handedDown(r handdown.Rule, config *policymap.Config, now uint64) (rulemap.Rule, error) {
	rule := rulemap.Rule{
		Prefix: wire.Prefix(r.Prefix), Action: actionOf(r.Action), Until: now + uint64(max(r.For, 0)), Origin: rulemap.HandDown,
	}
	switch rule.Action {
	case rulemap.Block:
		return rule, nil
	case rulemap.Limit:
	default:
		return rule, fmt.Errorf("hand down %s for %s: an offender is blocked or limited", r.Action, r.Prefix)
	}
	policy, _ := config.Policy(policymap.Default)
	rule.Limit, rule.PolicyID = limitOf(r.Limit), policy.ID()
	return rule, partHint(config.CheckWhole(rule.Prefix))
}

// Enforced reports whether that very prefix is blocked or limited: by a rule of origin handdown, or by what it gave way to.
func (p *Plane) Enforced(prefix netip.Prefix) (enforced bool, err error) {
	prefix = wire.Prefix(prefix)
	err = p.reading(func(i *loader.Instance) error {
		rules, err := i.Rules().Containing(prefix)
		enforced = slices.ContainsFunc(rules, func(r rulemap.Rule) bool { return r.Prefix == prefix && r.Action != rulemap.Allow })
		return err
	})
	return enforced, err
}

// HandedDown returns the rules of origin handdown that are in force. It reads all rules.
func (p *Plane) HandedDown() ([]handdown.Rule, error) {
	var rules []handdown.Rule
	err := p.reading(func(i *loader.Instance) error {
		now := bootTime()
		for r, err := range i.Rules().All() {
			if err != nil {
				return err
			}
			if r.Origin == rulemap.HandDown {
				rules = append(rules, offenderRule(r, now))
			}
		}
		return nil
	})
	return rules, err
}

func offenderRule(r rulemap.Rule, now uint64) handdown.Rule {
	return handdown.Rule{
		Prefix: r.Prefix, Action: configAction(r.Action), Limit: kernelLimitOf(r.Limit),
		For: time.Duration(min(r.Until-min(now, r.Until), 1<<63-1)),
	}
}

// Protected returns why a prefix must not be dropped: an allow rule that contains it, one for a part of it, who
// administers the machine, or the next hop of one of its routes. Of a part it may not know yet what another process has allowed a moment ago, see ruleIndex;
// for a single address there are no parts.
func (p *Plane) Protected(prefix netip.Prefix) (reason string, err error) {
	prefix = wire.Prefix(prefix)
	err = p.reading(func(i *loader.Instance) error {
		if reason, err = p.allowed(i, prefix); reason != "" || err != nil {
			return err
		}
		reason, err = p.administrator(i, prefix)
		return err
	})
	return reason, err
}

// allowedWhole returns which allow rule contains a prefix.
func allowedWhole(i *loader.Instance, prefix netip.Prefix) (string, error) {
	rules, err := i.Rules().Containing(prefix)
	if err != nil {
		return "", err
	}
	for _, r := range rules {
		if r.Action == rulemap.Allow {
			return allowReason(r.Prefix, r.Origin), nil
		}
	}
	return "", nil
}

func (p *Plane) allowed(i *loader.Instance, prefix netip.Prefix) (string, error) {
	if reason, err := allowedWhole(i, prefix); reason != "" || err != nil || prefix.IsSingleIP() {
		return reason, err
	}
	index, err := p.index(i)
	if err != nil {
		return "", err
	}
	for _, a := range index.allowed {
		if prefix.Overlaps(a.Prefix) && a.Until > bootTime() {
			return allowReason(a.Prefix, a.Origin), nil
		}
	}
	return "", nil
}

func allowReason(prefix netip.Prefix, origin rulemap.Origin) string {
	return fmt.Sprintf("an allow rule for %s (%s)", prefix, origin)
}

// administrator returns who administers the machine from this prefix, or is on its ways to others.
func (p *Plane) administrator(i *loader.Instance, prefix netip.Prefix) (string, error) {
	peers, err := p.peers.get(p.options.Now, func() ([]lockout.Peer, error) {
		return append(p.options.Guard.All(), lockout.NextHops()...), nil
	})
	if err != nil {
		return "", err
	}
	apart := func(peer lockout.Peer) bool { return !prefix.Contains(peer.Addr) }
	if peers = slices.DeleteFunc(slices.Clone(peers), apart); len(peers) == 0 {
		return "", nil // most have none, and a fleet asks about very many: to read the attachments takes long
	}
	interfaces, err := lockout.AttachedTo(i)
	if err != nil {
		return "", err
	}
	n := slices.IndexFunc(peers, func(peer lockout.Peer) bool { return peer.MayArriveOn(interfaces) })
	if n < 0 {
		return "", nil
	}
	return peers[n].String(), nil
}

package lockout

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
)

// Guard refuses changes that would cut off a peer. The zero Guard refuses nothing.
type Guard struct {
	// Peers returns the peers of now.
	Peers func() []Peer
}

// Refusal is the error for a change that would cut off a peer. Nothing was changed.
type Refusal struct {
	What string // words the rule or limit that would do it
	Peer Peer
}

// Error implements error.
func (r Refusal) Error() string { return fmt.Sprintf("%s would cut off %s", r.What, r.Peer) }

// Change is what is to become of the rules about an address. It may overwrite held.
type Change func(held []rulemap.Rule, addr netip.Addr) []rulemap.Rule

// Setting is the Change that sets rules.
func Setting(fresh []rulemap.Rule) Change {
	return func(held []rulemap.Rule, addr netip.Addr) []rulemap.Rule { return withRules(held, fresh, addr) }
}

// Unsetting is the Change that removes all rules of prefixes: then others, or the policies, decide.
func Unsetting(prefixes []netip.Prefix) Change {
	return func(held []rulemap.Rule, _ netip.Addr) []rulemap.Rule {
		return slices.DeleteFunc(held, func(r rulemap.Rule) bool { return slices.Contains(prefixes, r.Prefix) })
	}
}

// withRules returns the rules that contain addr after fresh ones are set. held may be overwritten.
func withRules(held, fresh []rulemap.Rule, addr netip.Addr) []rulemap.Rule {
	for _, r := range fresh {
		if !r.Prefix.Contains(addr) {
			continue
		}
		held = slices.DeleteFunc(held, func(old rulemap.Rule) bool {
			return old.Prefix == r.Prefix && old.Action == r.Action
		})
		held = append(held, r)
	}
	return held
}

// Rules refuses a change to the rules. It does not matter whether that is a dry run at present, which
// ends without anybody looking at the rules again.
func (g Guard) Rules(i *loader.Instance, change Change) error {
	interfaces, err := AttachedTo(i)
	if err != nil {
		return err
	}
	configs, err := i.Policies().Possible()
	if err != nil {
		return err
	}
	for _, peer := range g.On(interfaces) {
		held, err := i.Rules().About(peer.Addr)
		if err != nil {
			return err
		}
		changed := change(slices.Clone(held), peer.Addr)
		for _, config := range configs {
			if err := refuseNew(threats(held, &config, peer), threats(changed, &config, peer), peer); err != nil {
				return err
			}
		}
	}
	return nil
}

// Config refuses a configuration by which a peer would be cut off on an interface that the instance
// is attached to, or on one of those to come. change is made to the rules with it; nil is none.
func (g Guard) Config(i *loader.Instance, config *policymap.Config, change Change, toCome ...int) error {
	if config.DryRun {
		return nil
	}
	attached, err := AttachedTo(i)
	if err != nil {
		return err
	}
	before, err := i.Policies().Load()
	if err != nil {
		return err
	}
	isAttached := func(index int) bool { return slices.Contains(attached, index) }
	inForce := !before.DryRun && !slices.ContainsFunc(toCome, func(index int) bool { return !isAttached(index) })
	for _, peer := range g.On(slices.Concat(attached, toCome)) {
		held, err := i.Rules().About(peer.Addr)
		if err != nil {
			return err
		}
		var old []threat
		if inForce {
			old = threats(held, &before, peer)
		}
		if change != nil {
			held = change(held, peer.Addr)
		}
		if err := refuseNew(old, threats(held, config, peer), peer); err != nil {
			return err
		}
	}
	return nil
}

// Attach refuses to attach to one more interface, where what is in force on others would cut off a peer.
func (g Guard) Attach(i *loader.Instance, index int) error {
	config, err := i.Policies().Load()
	if err != nil || config.DryRun {
		return err
	}
	for _, peer := range g.On([]int{index}) {
		held, err := i.Rules().About(peer.Addr)
		if err != nil {
			return err
		}
		if err := refuseNew(nil, threats(held, &config, peer), peer); err != nil {
			return err
		}
	}
	return nil
}

// New refuses a configuration and rules for an instance that there is not yet, on interfaces.
func (g Guard) New(config *policymap.Config, rules Change, interfaces []int) error {
	if config.DryRun {
		return nil
	}
	for _, peer := range g.On(interfaces) {
		if err := refuseNew(nil, threats(rules(nil, peer.Addr), config, peer), peer); err != nil {
			return err
		}
	}
	return nil
}

// All returns the peers, on whatever interface.
func (g Guard) All() []Peer {
	if g.Peers == nil {
		return nil
	}
	return g.Peers()
}

// On returns the peers whose packets may arrive on one of the interfaces.
func (g Guard) On(interfaces []int) []Peer {
	return slices.DeleteFunc(g.All(), func(p Peer) bool { return !p.MayArriveOn(interfaces) })
}

// AttachedTo returns the interfaces where packets are limited. Numbers of another network namespace
// mean nothing here, so those are Unknown.
func AttachedTo(i *loader.Instance) ([]int, error) {
	all, err := i.Attachments()
	if err != nil {
		return nil, err
	}
	var interfaces []int
	for _, a := range all {
		switch {
		case a.Gone:
		case a.Name == "":
			interfaces = append(interfaces, Unknown)
		default:
			interfaces = append(interfaces, a.Index)
		}
	}
	return interfaces, nil
}

// refuseNew refuses what was not so before. What the user has forced earlier is no reason to refuse
// something else now.
func refuseNew(before, after []threat, peer Peer) error {
	for _, t := range after {
		if !slices.ContainsFunc(before, func(old threat) bool { return old.covers(t) }) {
			return Refusal{What: t.what, Peer: peer}
		}
	}
	return nil
}

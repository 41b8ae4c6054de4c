package main

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
)

// peers returns the addresses that must not be cut off and whose packets may arrive on one of the
// interfaces.
func (e *env) peers(interfaces []int) []lockout.Peer {
	return slices.DeleteFunc(lockout.Peers(e.getenv), func(p lockout.Peer) bool {
		return !p.MayArriveOn(interfaces)
	})
}

// attachedTo returns the interfaces where packets are limited. Numbers of another network namespace
// mean nothing here, so those are unknown.
func attachedTo(i *loader.Instance) ([]int, error) {
	all, err := i.Attachments()
	if err != nil {
		return nil, err
	}
	var interfaces []int
	for _, a := range all {
		switch {
		case a.Gone:
		case a.Name == "":
			interfaces = append(interfaces, lockout.Unknown)
		default:
			interfaces = append(interfaces, a.Index)
		}
	}
	return interfaces, nil
}

// guardRules refuses new rules that would cut off a peer.
func (e *env) guardRules(i *loader.Instance, fresh []rulemap.Rule) error {
	return e.guardChange(i, func(held []rulemap.Rule, addr netip.Addr) []rulemap.Rule {
		return withRules(held, fresh, addr)
	})
}

// guardUnset refuses to remove rules without which others, or the policies, would cut off a peer.
func (e *env) guardUnset(i *loader.Instance, prefixes []netip.Prefix) error {
	return e.guardChange(i, func(held []rulemap.Rule, _ netip.Addr) []rulemap.Rule {
		return slices.DeleteFunc(held, func(r rulemap.Rule) bool { return slices.Contains(prefixes, r.Prefix) })
	})
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

// guardChange refuses a change to the rules that would cut off a peer. It does not matter whether
// that is a dry run at present, which ends without anybody looking at the rules again.
func (e *env) guardChange(i *loader.Instance, change func([]rulemap.Rule, netip.Addr) []rulemap.Rule) error {
	interfaces, err := attachedTo(i)
	if err != nil {
		return err
	}
	configs, err := possibleConfigs(i)
	if err != nil {
		return err
	}
	for _, peer := range e.peers(interfaces) {
		held, err := rulesAbout(i, peer.Addr)
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

// possibleConfigs returns what may be in force before anybody changes the configuration again:
// during a trial that is also what it goes back to.
func possibleConfigs(i *loader.Instance) ([]policymap.Config, error) {
	config, err := i.Policies().Load()
	if err != nil {
		return nil, err
	}
	configs := []policymap.Config{config}
	if config.ValidUntil == policymap.Forever {
		return configs, nil
	}
	fallback, ok, err := i.Policies().Fallback()
	if ok {
		configs = append(configs, fallback)
	}
	return configs, err
}

// rulesAbout returns all rules that contain an address.
func rulesAbout(i *loader.Instance, addr netip.Addr) ([]rulemap.Rule, error) {
	var all []rulemap.Rule
	for bits := range addr.BitLen() + 1 {
		rules, err := i.Rules().Get(netip.PrefixFrom(addr, bits))
		if err != nil {
			return nil, err
		}
		all = append(all, rules...)
	}
	return all, nil
}

// guardConfig refuses a configuration by which a peer would be cut off on an interface that the
// instance is attached to, or on one of those to come.
func (e *env) guardConfig(i *loader.Instance, config *policymap.Config, toCome ...int) error {
	if config.DryRun {
		return nil
	}
	attached, err := attachedTo(i)
	if err != nil {
		return err
	}
	before, err := i.Policies().Load()
	if err != nil {
		return err
	}
	isAttached := func(index int) bool { return slices.Contains(attached, index) }
	inForce := !before.DryRun && !slices.ContainsFunc(toCome, func(index int) bool { return !isAttached(index) })
	for _, peer := range e.peers(slices.Concat(attached, toCome)) {
		rules, err := rulesAbout(i, peer.Addr)
		if err != nil {
			return err
		}
		var old []threat
		if inForce {
			old = threats(rules, &before, peer)
		}
		if err := refuseNew(old, threats(rules, config, peer), peer); err != nil {
			return err
		}
	}
	return nil
}

// refuseNew refuses what was not so before. What the user has forced earlier is no reason to refuse
// something else now.
func refuseNew(before, after []threat, peer lockout.Peer) error {
	for _, t := range after {
		if !slices.ContainsFunc(before, func(old threat) bool { return old.covers(t) }) {
			return fmt.Errorf("%s would cut off %s; nothing was changed, and --force does it all the same", t.what, peer)
		}
	}
	return nil
}

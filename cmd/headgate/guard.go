package main

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
)

// What a session needs at least: less, and typing a command to mend it takes minutes.
const (
	leastPacketsPerSecond = 20
	leastBytesPerSecond   = 16 << 10
)

const protoTCP = 6

// peers returns the addresses that must not be cut off and whose packets arrive on one of the
// interfaces. Where a peer's interface is unknown it counts as one of them.
func (e *env) peers(interfaces []int) []lockout.Peer {
	return slices.DeleteFunc(lockout.Peers(e.getenv), func(p lockout.Peer) bool {
		return p.Ifindex != 0 && !slices.Contains(interfaces, p.Ifindex)
	})
}

func attachedTo(i *loader.Instance) ([]int, error) {
	all, err := i.Attachments()
	if err != nil {
		return nil, err
	}
	var interfaces []int
	for _, a := range all {
		interfaces = append(interfaces, a.Index)
	}
	return interfaces, nil
}

// guardRules refuses new rules that would cut off a peer.
func (e *env) guardRules(i *loader.Instance, rules []rulemap.Rule) error {
	interfaces, err := attachedTo(i)
	if err != nil {
		return err
	}
	for _, peer := range e.peers(interfaces) {
		if err := guardPeer(i, peer, rules); err != nil {
			return err
		}
	}
	return nil
}

func guardPeer(i *loader.Instance, peer lockout.Peer, rules []rulemap.Rule) error {
	rule, ok := longest(rules, peer.Addr)
	if !ok || rule.Action == rulemap.Allow {
		return nil
	}
	old, exists, err := i.Rules().Decide(peer.Addr)
	if err != nil {
		return err
	}
	if exists && goesFirst(old, rule) {
		return nil
	}
	if rule.Action == rulemap.Block {
		return refused("blocking %s would cut off %s", rule.Prefix, peer)
	}
	if tooLow(rule.Limit) {
		return refused("a limit of %s for %s would cut off %s", describe(rule.Limit), rule.Prefix, peer)
	}
	return nil
}

// longest returns the rule with the longest prefix that contains addr.
func longest(rules []rulemap.Rule, addr netip.Addr) (rulemap.Rule, bool) {
	var found rulemap.Rule
	for _, r := range rules {
		if r.Prefix.Contains(addr) && (!found.Prefix.IsValid() || r.Prefix.Bits() > found.Prefix.Bits()) {
			found = r
		}
	}
	return found, found.Prefix.IsValid()
}

// goesFirst says that an old rule decides in spite of a new one.
func goesFirst(old, fresh rulemap.Rule) bool {
	if old.Prefix.Bits() != fresh.Prefix.Bits() {
		return old.Prefix.Bits() > fresh.Prefix.Bits()
	}
	return old.Action > fresh.Action
}

// guardConfig refuses a configuration whose policies would cut off a peer on an interface that the
// instance is attached to, or on one of those to come.
func (e *env) guardConfig(i *loader.Instance, config *policymap.Config, toCome ...int) error {
	if config.DryRun {
		return nil
	}
	interfaces, err := attachedTo(i)
	if err != nil {
		return err
	}
	for _, peer := range e.peers(append(interfaces, toCome...)) {
		rule, exists, err := i.Rules().Decide(peer.Addr)
		if err != nil {
			return err
		}
		if exists && rule.Action == rulemap.Allow {
			continue
		}
		for _, p := range config.Policies {
			limit := p.Limit
			if exists && rule.Action == rulemap.Limit && rule.PolicyID == p.ID() {
				limit = rule.Limit
			}
			if !p.DryRun && matchesPeer(p, peer) && tooLow(limit) {
				return refused("a limit of %s (policy %s) would cut off %s", describe(limit), p.Name, peer)
			}
		}
	}
	return nil
}

// matchesPeer says whether a policy sees the packets of an established session.
func matchesPeer(p policymap.Policy, peer lockout.Peer) bool {
	if peer.Port == 0 {
		return !p.HasProto && p.Ports == (policymap.Ports{}) && !p.SYN
	}
	if p.SYN || p.HasProto && p.Proto != protoTCP {
		return false
	}
	return p.Ports == (policymap.Ports{}) || p.Ports.First <= peer.Port && peer.Port <= p.Ports.Last
}

func tooLow(l wire.Limit) bool {
	below := func(q wire.Quota, least uint64) bool {
		return q != (wire.Quota{}) && (inOneSecond(q.Rate) < least || q.Burst < least)
	}
	return below(l.Packets, leastPacketsPerSecond) || below(l.Bytes, leastBytesPerSecond)
}

func refused(format string, args ...any) error {
	return fmt.Errorf(format+"; nothing was changed, and --force does it all the same", args...)
}

package lockout

import (
	"cmp"
	"fmt"
	"slices"

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

// threat is something that cuts off a peer for some time, in ns of the boot clock.
type threat struct {
	what        string
	from, until uint64 // 0 is now
}

// covers says that t is there already when other is, and stays as long.
func (t threat) covers(other threat) bool {
	return t.what == other.what && t.from <= other.from && t.until >= other.until
}

// threats returns all that will cut off a peer if nothing changes. rules are those that contain its
// address; what is outlasted by one that goes before it never decides.
func threats(rules []rulemap.Rule, config *policymap.Config, peer Peer) []threat {
	var found []threat
	var end uint64
	for _, r := range slices.SortedFunc(slices.Values(rules), byPrecedence) {
		if r.Until <= end {
			continue
		}
		switch r.Action {
		case rulemap.Allow:
		case rulemap.Block:
			found = append(found, threat{fmt.Sprintf("blocking %s", r.Prefix), end, r.Until})
		case rulemap.Limit:
			for _, what := range tooLowFor(peer, config, &r) {
				found = append(found, threat{what, end, r.Until})
			}
		}
		end = r.Until
	}
	if end == rulemap.Forever {
		return found
	}
	for _, what := range tooLowFor(peer, config, nil) {
		found = append(found, threat{what, end, rulemap.Forever})
	}
	return found
}

// byPrecedence sorts the rules of one address: the one that goes first first.
func byPrecedence(a, b rulemap.Rule) int {
	return cmp.Or(cmp.Compare(b.Prefix.Bits(), a.Prefix.Bits()), cmp.Compare(b.Action, a.Action))
}

// tooLowFor words the limits that are too low for a peer. rule, where not nil, takes the place of
// its policy's.
func tooLowFor(peer Peer, config *policymap.Config, rule *rulemap.Rule) []string {
	var found []string
	for _, p := range config.Policies {
		limit, whose := p.Limit, fmt.Sprintf("(policy %s)", p.Name)
		if rule != nil && rule.PolicyID == p.ID() {
			limit, whose = rule.Limit, fmt.Sprintf("for %s", rule.Prefix)
		}
		if !p.DryRun && matchesPeer(p, peer) && tooLow(limit) {
			found = append(found, fmt.Sprintf("a limit of %s %s", limit, whose))
		}
	}
	return found
}

// matchesPeer says whether a policy sees the packets of an established session.
func matchesPeer(p policymap.Policy, peer Peer) bool {
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
		return q != (wire.Quota{}) && (q.Rate.InSecond() < least || q.Burst < least)
	}
	return below(l.Packets, leastPacketsPerSecond) || below(l.Bytes, leastBytesPerSecond)
}

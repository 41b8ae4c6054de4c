//go:build linux

package progtest

import (
	"net/netip"
	"slices"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/limit/heat"
)

// Model is the program's packet walk in plain Go, for one CPU and a bucket map that does not evict.
// It reads as the specification of who may pass: package limit decides about one bucket, package heat
// about who has one, and Model about rules, policies and what is counted.
type Model struct {
	Config   policymap.Config
	Fallback *policymap.Config     // nil lets everything pass
	Rules    []rulemap.Rule        // in any order; at most one of an action at a prefix
	Verified map[netip.Addr]uint64 // the tick at which a source, cut to its prefix, is not any more

	Counts   Counts
	Policies map[string]statmap.Slot    // since the policy was made
	Sources  map[SourceKey]statmap.Slot // of buckets for one source
	Tiers    *heat.Tiers[SourceKey]
	shared   map[uint16]*limitedBucket // by the policy's id
	salt     wire.Salt
}

// SourceKey names a bucket.
type SourceKey struct {
	Addr     netip.Addr // cut to its prefix
	PolicyID uint16
}

// limitedBucket remembers the limit that it was last asked about.
type limitedBucket struct {
	limit.Bucket
	limit limit.Limit
}

// NewModel returns a model of a Lab with these options in which nothing has happened yet.
func NewModel(o Options) *Model {
	return &Model{
		Config:   policymap.NewConfig(),
		Verified: make(map[netip.Addr]uint64),
		Counts:   make(Counts),
		Policies: make(map[string]statmap.Slot),
		Sources:  make(map[SourceKey]statmap.Slot),
		Tiers:    heat.New[SourceKey](o.tiers()),
		shared:   make(map[uint16]*limitedBucket),
		salt:     o.salt(),
	}
}

// Decide returns what becomes of a frame at time now (ns), and counts it. It returns false, and
// counts nothing, where no configuration is in force.
func (m *Model) Decide(frame []byte, now uint64) (Decision, bool) {
	config := &m.Config
	if now >= config.ValidUntil {
		config = m.Fallback
	}
	if config == nil {
		return Decision{}, false
	}
	w := walk{Model: m, config: config, packet: Parse(frame), now: now}
	d := Decision{w.outcome(), uint64(w.packet.Length)}
	m.Counts[d.Outcome] = plus(m.Counts[d.Outcome], d.Length)
	return d, true
}

func plus(c statmap.Counter, length uint64) statmap.Counter {
	c.Add(statmap.Counter{Packets: 1, Bytes: length})
	return c
}

// Forget empties the counters of a policy, as for a new one of its name.
func (m *Model) Forget(name string) { delete(m.Policies, name) }

// Verify makes a source verified as verifiedmap.Map does.
func (m *Model) Verify(source netip.Addr, until uint64) {
	ticks := (until-1)>>bpf.VerifiedTickShift + 1
	m.Verified[source] = max(m.Verified[source], ticks)
}

// SetRule sets a rule as rulemap.Map does. Those of the model must hold.
func (m *Model) SetRule(rule rulemap.Rule) {
	m.put(rule)
	m.lift(rule)
}

func (m *Model) put(rule rulemap.Rule) {
	rule.Prefix = wire.Prefix(rule.Prefix)
	i := slices.IndexFunc(m.Rules, func(r rulemap.Rule) bool {
		return r.Prefix == rule.Prefix && r.Action == rule.Action
	})
	switch {
	case i < 0:
		m.Rules = append(m.Rules, rule)
	case !rule.GivesWay(m.Rules[i].Origin, m.Rules[i].Until):
		m.Rules[i] = rule
	}
}

// lift removes what was handed down inside the prefix of a rule, if people allow that.
func (m *Model) lift(rule rulemap.Rule) {
	if rule.Action != rulemap.Allow || wasHandedDown(rule) {
		return
	}
	prefix := wire.Prefix(rule.Prefix)
	m.Rules = slices.DeleteFunc(m.Rules, func(r rulemap.Rule) bool {
		return wasHandedDown(r) && r.Action != rulemap.Allow && r.Prefix.Bits() >= prefix.Bits() && prefix.Contains(r.Prefix.Addr())
	})
}

func wasHandedDown(r rulemap.Rule) bool {
	return r.Origin == rulemap.HandDown || r.Origin == rulemap.FleetHandDown
}

// Exchange removes rules and adds others as rulemap.Map does.
func (m *Model) Exchange(old, fresh []rulemap.Rule) {
	m.Rules = slices.DeleteFunc(m.Rules, func(r rulemap.Rule) bool {
		return slices.ContainsFunc(old, func(o rulemap.Rule) bool {
			return o.Prefix == r.Prefix && o.Action == r.Action && o.Origin == r.Origin
		})
	})
	for _, r := range fresh {
		m.put(r)
	}
	for _, r := range fresh {
		m.lift(r)
	}
}

// Replace puts rules in the place of all others of their origin, as rulemap.Map does.
func (m *Model) Replace(origin rulemap.Origin, rules []rulemap.Rule) {
	m.Rules = slices.DeleteFunc(m.Rules, func(r rulemap.Rule) bool { return r.Origin == origin })
	for _, r := range rules {
		r.Origin = origin
		m.SetRule(r)
	}
}

// Unset removes all rules of a prefix.
func (m *Model) Unset(prefix netip.Prefix) {
	prefix = wire.Prefix(prefix)
	m.Rules = slices.DeleteFunc(m.Rules, func(r rulemap.Rule) bool { return r.Prefix == prefix })
}

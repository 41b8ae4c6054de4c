//go:build linux

package progtest

import (
	"net/netip"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/rate"
)

// Packets returns a limit of packets, such as Packets("5pps", 10). It panics on a rate that is
// none, which is a mistake in the calling test.
func Packets(packets string, burst uint64) wire.Limit {
	return wire.Limit{Packets: quota(rate.ParsePackets(packets))(burst)}
}

// Bytes returns a limit of bytes, such as Bytes("1MB/s", 1500). It panics as Packets does.
func Bytes(bandwidth string, burst uint64) wire.Limit {
	return wire.Limit{Bytes: quota(rate.ParseBandwidth(bandwidth))(burst)}
}

// Both returns the limit of packets of one limit with the limit of bytes of the other.
func Both(packets, bytes wire.Limit) wire.Limit {
	return wire.Limit{Packets: packets.Packets, Bytes: bytes.Bytes}
}

func quota(r rate.Rate, err error) func(burst uint64) wire.Quota {
	if err != nil {
		panic("progtest: " + err.Error())
	}
	return func(burst uint64) wire.Quota { return wire.Quota{Rate: r, Burst: burst} }
}

// Configure changes the configuration in force.
func (l *Lab) Configure(edit func(*policymap.Config)) {
	l.tb.Helper()
	config := l.Config()
	edit(&config)
	l.check(l.Policies.Store(config))
}

// Config returns the configuration in force.
func (l *Lab) Config() policymap.Config {
	l.tb.Helper()
	config, err := l.Policies.Load()
	l.check(err)
	return config
}

// SetPolicy adds policies or replaces those of their names, all in one change. A new policy finds
// its counters and its shared buckets empty.
func (l *Lab) SetPolicy(policies ...policymap.Policy) {
	l.tb.Helper()
	stats := l.stats()
	l.Configure(func(c *policymap.Config) {
		for _, p := range policies {
			_, existed := c.Policy(p.Name)
			l.check(c.Set(p, stats.Slots()))
			if set, _ := c.Policy(p.Name); !existed {
				l.check(l.Buckets.ResetShared(set.Slot()))
			}
		}
	})
}

// SetDefault makes the default policy one with this limit.
func (l *Lab) SetDefault(limit wire.Limit) {
	l.tb.Helper()
	l.SetPolicy(policymap.Policy{Name: policymap.Default, Limit: limit})
}

// DeletePolicy removes a policy.
func (l *Lab) DeletePolicy(name string) {
	l.tb.Helper()
	l.Configure(func(c *policymap.Config) { l.check(c.Delete(name)) })
}

// PolicyID returns the id of a policy, for rules that limit it and to find its sources.
func (l *Lab) PolicyID(name string) uint16 {
	l.tb.Helper()
	return l.policy(name).ID()
}

// Counted returns what a policy counted since it was made.
func (l *Lab) Counted(name string) statmap.Slot {
	l.tb.Helper()
	p, stats := l.policy(name), l.stats()
	return stats.Policy(p.Slot(), p.Baseline())
}

func (l *Lab) policy(name string) policymap.Policy {
	l.tb.Helper()
	config := l.Config()
	p, ok := config.Policy(name)
	if !ok {
		l.tb.Fatalf("there is no policy %q", name)
	}
	return p
}

func (l *Lab) stats() statmap.Stats {
	l.tb.Helper()
	stats, err := statmap.Read(l.Map(bpf.MapCounters))
	l.check(err)
	return stats
}

// Block returns a rule that drops all of a prefix, without an end. Like Allow and Limit it panics
// on a prefix that is none.
func Block(prefix string) rulemap.Rule { return rule(prefix, rulemap.Block) }

// Allow returns a rule that lets all of a prefix pass.
func Allow(prefix string) rulemap.Rule { return rule(prefix, rulemap.Allow) }

// Limit returns a rule that gives the sources of a prefix another limit at one policy.
func Limit(prefix string, policyID uint16, limit wire.Limit) rulemap.Rule {
	r := rule(prefix, rulemap.Limit)
	r.PolicyID, r.Limit = policyID, limit
	return r
}

func rule(prefix string, action rulemap.Action) rulemap.Rule {
	return rulemap.Rule{Prefix: netip.MustParsePrefix(prefix), Action: action, Until: rulemap.Forever}
}

// SetRules sets rules, all in one change.
func (l *Lab) SetRules(rules ...rulemap.Rule) {
	l.tb.Helper()
	_, err := l.Rules.SetAll(rules, nil)
	l.check(err)
}

// DeleteAll removes all policies and all rules, so that everything passes. Buckets and counters
// stay, but no policy to come will look at them. Heat cells are emptied, as the next test may be at
// an earlier time, where they would still owe.
func (l *Lab) DeleteAll() {
	l.tb.Helper()
	l.check(heatmap.New(l.Map(bpf.MapHeat)).Clear())
	l.Configure(func(c *policymap.Config) { c.Policies = nil })
	// At time 0 no rule has ended, and those that have must not come back with the clock.
	defer l.SetClock(l.Clock())
	l.SetClock(0)
	rules, err := l.Rules.List()
	l.check(err)
	var prefixes []netip.Prefix
	for _, r := range rules {
		prefixes = append(prefixes, r.Prefix)
	}
	_, err = l.Rules.Unset(prefixes)
	l.check(err)
}

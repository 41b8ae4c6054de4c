package plane

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/metrics"
)

func (l *lab) snapshot() (k metrics.Kernel) {
	l.Helper()
	l.must(l.host.Do(func() (err error) {
		k, err = l.plane.Snapshot()
		return err
	}))
	return k
}

// Rules that the API sets are as those of commands.
func TestSetRule(t *testing.T) {
	l := newLab(t)
	l.apply(policy("dns", 53, 9), rules(limited("203.0.113.0/24", "dns", 8)))
	l.must(l.plane.SetRule(block("10.0.0.0/8"), time.Hour))
	l.must(l.plane.SetRule(limited("203.0.113.0/24", "dns", 4), 0))
	all, err := l.plane.Rules()
	l.must(err)
	end := all[0].Expires
	if end == nil || time.Until(*end) > time.Hour || time.Until(*end) < 59*time.Minute {
		t.Errorf("ends at %v", end)
	}
	all[0].Expires = nil
	want := []admin.KernelRule{
		{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Action: "block", Origin: "cli"},
		{Prefix: netip.MustParsePrefix("203.0.113.0/24"), Action: "limit", Rate: "6pph", Burst: 4, Policy: "dns", Origin: "cli"},
	}
	if diff := cmp.Diff(want, all, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	removed, err := l.plane.Unset([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("11.0.0.0/8")})
	if err != nil || fmt.Sprint(removed) != "[10.0.0.0/8]" {
		t.Errorf("removed %v, %v", removed, err)
	}
	l.wantRules("limit 203.0.113.0/24 cli")
}

// What is the caller's fault is a Refusal.
func TestAdminRefusals(t *testing.T) {
	l := newLab(t)
	l.peers = []lockout.Peer{
		{Addr: netip.MustParseAddr("192.0.2.254"), What: "a default gateway"},
		{Addr: netip.MustParseAddr("192.0.3.254"), What: "a default gateway"},
	}
	l.apply(policy("dns", 53, 9), rules(limited("203.0.113.0/24", "dns", 4), allow("192.0.2.254/32"), block("192.0.2.0/24")))
	for want, do := range map[string]func() error{
		"no such policy":   func() error { return l.plane.SetRule(limited("10.0.0.0/8", "web", 5), 0) },
		"is a part of one": func() error { return l.plane.SetRule(limited("2001:db8::1/128", "", 5), 0) },
		"would cut off":    func() error { return l.plane.SetRule(block("192.0.3.254/31"), 0) },
		"blocking 192.0.2.0/24": func() error {
			_, err := l.plane.Unset([]netip.Prefix{netip.MustParsePrefix("192.0.2.254/32")})
			return err
		},
		"block 192.0.2.0/24: nothing was changed: a rule of another origin says the same there, and for longer": func() error {
			return l.plane.SetRule(block("192.0.2.0/24"), time.Hour)
		},
		"must not be below 0": func() error { return l.plane.SetRule(block("10.0.0.0/8"), -1) },
		"has no limit":        func() error { return l.plane.SetPolicy(config.Policy{Name: "web"}) },
		"use estimate":        func() error { return l.plane.SetPolicy(config.Policy{Name: "x", Overflow: "maybe", Limit: limitTo(5)}) },
		"it has only a limit": func() error { return l.plane.SetPolicy(config.Policy{Name: "default", SYN: true}) },
		"matches the same": func() error {
			return l.plane.SetPolicy(config.Policy{Name: "x", Proto: "udp", Protocol: 17, FirstPort: 53, LastPort: 53, Limit: limitTo(5)})
		},
		"the default policy stays": func() error { return l.plane.DeletePolicy("default") },
	} {
		err := l.host.Do(do)
		if _, ok := errors.AsType[admin.Refusal](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want a Refusal with %q", err, want)
		}
	}
	if err := l.host.Do(func() error { return l.plane.DeletePolicy("x") }); !errors.Is(err, admin.ErrNotFound) {
		t.Errorf("error %v of a policy that there is not", err)
	}
	l.wantRules("block 192.0.2.0/24 config", "allow 192.0.2.254/32 config", "limit 203.0.113.0/24 config")
}

// A policy that is set live holds until the next Apply if the file has it.
func TestSetPolicy(t *testing.T) {
	l := newLab(t)
	l.apply(policy("dns", 53, 9))
	l.must(l.host.Do(func() error {
		dns := config.Policy{Name: "dns", Proto: "udp", Protocol: 17, FirstPort: 53, LastPort: 53, Limit: limitTo(2)}
		mine := config.Policy{Name: "mine", FirstPort: 99, LastPort: 100, Shared: true, Limit: limitTo(4)}
		return errors.Join(l.plane.SetPolicy(dns), l.plane.SetPolicy(mine), l.plane.SetPolicy(config.Policy{Name: "default", Limit: limitTo(50)}))
	}))
	l.wantPassed(flooder, 53, 9, 2)
	l.wantPassed(flooder, 99, 9, 4)
	policies, err := l.plane.Policies()
	l.must(err)
	want := []admin.KernelPolicy{
		{Name: "default", Key: "source", Overflow: "estimate", Rate: "6pph", Burst: 50, Pass: admin.Count{Packets: 6, Bytes: 6 * 46}, Drop: admin.Count{}},
		{Name: "dns", Key: "source", Overflow: "estimate", Proto: "udp", Ports: "53", Rate: "6pph", Burst: 2, Pass: admin.Count{Packets: 2, Bytes: 2 * 46}, Drop: admin.Count{Packets: 7, Bytes: 7 * 46}},
		{Name: "mine", Key: "shared", Overflow: "estimate", Ports: "99-100", Rate: "6pph", Burst: 4, Pass: admin.Count{Packets: 4, Bytes: 4 * 46}, Drop: admin.Count{Packets: 5, Bytes: 5 * 46}},
	}
	if diff := cmp.Diff(want, policies); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	l.apply() // what was changed of the file's policy is the file's still
	if got := policyNamesOf(l.state().Config); got != "default mine" {
		t.Errorf("policies %s", got)
	}
	l.apply(policy("dns", 53, 9))
	if got := policyNamesOf(l.state().Config); got != "default mine dns" {
		t.Errorf("policies %s", got)
	}
	l.must(l.plane.DeletePolicy("mine"))
	l.apply()
	if got := policyNamesOf(l.state().Config); got != "default" {
		t.Errorf("policies %s", got)
	}
}

func TestTop(t *testing.T) {
	l := newLab(t)
	l.apply(defaultLimit(3), func(k *config.Kernel) { k.IPv4Prefix = 24 })
	l.passed(modest, 80, 5)
	l.passed(flooder, 80, 9)
	l.passed("192.0.2.77", 80, 1)
	top, err := l.plane.Top(2)
	l.must(err)
	want := []admin.KernelSource{
		{Source: netip.MustParsePrefix("203.0.113.0/24"), Policy: "default", Pass: admin.Count{Packets: 3, Bytes: 3 * 46}, Drop: admin.Count{Packets: 6, Bytes: 6 * 46}},
		{Source: netip.MustParsePrefix("198.51.100.0/24"), Policy: "default", Pass: admin.Count{Packets: 3, Bytes: 3 * 46}, Drop: admin.Count{Packets: 2, Bytes: 2 * 46}},
	}
	if diff := cmp.Diff(want, top, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("top (-want +got):\n%s", diff)
	}
	if all, err := l.plane.Top(99); err != nil || len(all) != 3 {
		t.Errorf("%d sources, %v", len(all), err)
	}
}

// A snapshot has every verdict, reason, action and origin, and exact counts.
// What this process has changed it knows at once, though the rules are read seldom.
func TestOwnRulesAreKnownAtOnce(t *testing.T) {
	l := newLab(t)
	l.apply()
	for n := range 2 {
		for _, r := range l.snapshot().Rules {
			if r.Action == "block" && r.Origin == "config" && r.Count != n {
				t.Errorf("%d rules, want %d", r.Count, n)
			}
		}
		l.apply(rules(block("198.51.100.0/24")))
	}
}

func TestSnapshot(t *testing.T) {
	l := newLab(t)
	l.apply(defaultLimit(3), interfacesNamed(l.pair.Far.Name, "later0"), rules(block("198.51.100.0/24"), allow("10.0.0.0/8")))
	l.passed(flooder, 80, 9)
	l.passed(modest, 80, 2)
	k := l.snapshot()
	if n := len(statmap.Reasons()); len(k.Reasons) != 3*n {
		t.Errorf("%d reasons, want %d", len(k.Reasons), 3*n)
	}
	if n := len(rulemap.Actions()) * len(rulemap.Origins()); len(k.Rules) != n {
		t.Errorf("%d kinds of rules, want %d", len(k.Rules), n)
	}
	for _, want := range []metrics.Reason{
		{Verdict: "drop", Reason: "over_packet_limit", Packets: 6, Bytes: 6 * 46},
		{Verdict: "drop", Reason: "blocked", Packets: 2, Bytes: 2 * 46},
		{Verdict: "pass", Reason: "under_limit", Packets: 3, Bytes: 3 * 46},
		{Verdict: "would_drop", Reason: "blocked"},
	} {
		if !contains(k.Reasons, want) {
			t.Errorf("no %+v in %+v", want, k.Reasons)
		}
	}
	for _, want := range []metrics.Rules{{Action: "block", Origin: "config", Count: 1}, {Action: "allow", Origin: "config", Count: 1}, {Action: "limit", Origin: "fleet"}} {
		if !contains(k.Rules, want) {
			t.Errorf("no %+v in %+v", want, k.Rules)
		}
	}
	wantPolicies := []metrics.Policy{
		{Name: "default", Verdict: "pass", Packets: 3, Bytes: 3 * 46}, {Name: "default", Verdict: "drop", Packets: 6, Bytes: 6 * 46},
		{Name: "default", Verdict: "would_drop"},
	}
	if diff := cmp.Diff(wantPolicies, k.Policies); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	if got := fmt.Sprint(k.Interfaces); got != "[{far0 native true false } {later0  false true }]" {
		t.Errorf("interfaces %s", got)
	}
	if k.Inserts != 1 || k.Deferred != 0 || k.ColdPackets != 0 {
		t.Errorf("%d buckets made, %d deferred, %d cold packets", k.Inserts, k.Deferred, k.ColdPackets)
	}
	if k.Sources != 1 || k.MaxSources != 4096 || k.MemoryBytes == 0 {
		t.Errorf("%d sources of %d, %d bytes", k.Sources, k.MaxSources, k.MemoryBytes)
	}
}

func contains[T comparable](all []T, want T) bool {
	for _, v := range all {
		if v == want {
			return true
		}
	}
	return false
}

// A change is made to what is in force, where a trial by hand is over that nobody was left to end.
func TestChangesEndATrialThatIsOver(t *testing.T) {
	l := newLab(t)
	l.apply(defaultLimit(100))
	l.cli(func(i *loader.Instance) error {
		c, err := i.Policies().Load()
		if err != nil {
			return err
		}
		return firstOf(i.Policies().StoreFallback(c), func() error {
			c.DryRun, c.ValidUntil = true, bootTime()-1
			return i.Policies().Store(c)
		})
	})
	l.must(l.plane.SetPolicy(config.Policy{Name: "dns", Proto: "udp", Protocol: 17, Limit: limitTo(5)}))
	s := l.state()
	if _, ok := s.Config.Policy("dns"); !ok || s.Config.DryRun || s.Config.ValidUntil != policymap.Forever {
		t.Errorf("in force is %+v, with the trial that was over", s.Config)
	}
}

package lockout

import (
	"cmp"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/rate"
)

func TestTooLow(t *testing.T) {
	packets := func(count uint64, per time.Duration, burst uint64) wire.Limit {
		return wire.Limit{Packets: quotaOf(count, per, rate.Packets, burst)}
	}
	bytes := func(count, burst uint64) wire.Limit {
		return wire.Limit{Bytes: quotaOf(count, time.Second, rate.Bytes, burst)}
	}
	tests := []struct {
		name string
		l    wire.Limit
		want bool
	}{
		{"no limit", wire.Limit{}, false},
		{"the least", packets(20, time.Second, 20), false},
		{"rate", packets(19, time.Second, 1000), true},
		{"burst", packets(1000, time.Second, 19), true},
		{"a minute's", packets(1200, time.Minute, 20), false},
		{"a minute's too few", packets(1199, time.Minute, 20), true},
		{"the least bytes", bytes(16<<10, 16<<10), false},
		{"bandwidth", bytes(16<<10-1, 1<<20), true},
		{"bandwidth burst", bytes(1<<20, 16<<10-1), true},
	}
	for _, tt := range tests {
		if got := tooLow(tt.l); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestMatchesPeer(t *testing.T) {
	ssh, gateway := Peer{Port: 22}, Peer{}
	tests := []struct {
		name             string
		p                policymap.Policy
		session, gateway bool
	}{
		{"all", policymap.Policy{}, true, true},
		{"tcp", policymap.Policy{Proto: 6, HasProto: true}, true, false},
		{"udp", policymap.Policy{Proto: 17, HasProto: true}, false, false},
		{"protocol 0", policymap.Policy{HasProto: true}, false, false},
		{"port 22", policymap.Policy{Ports: policymap.Ports{First: 22, Last: 22}}, true, false},
		{"up to 22", policymap.Policy{Ports: policymap.Ports{First: 1, Last: 22}}, true, false},
		{"from 23", policymap.Policy{Ports: policymap.Ports{First: 23, Last: 99}}, false, false},
		{"opening", policymap.Policy{SYN: true}, false, false},
	}
	for _, tt := range tests {
		if got := matchesPeer(tt.p, ssh); got != tt.session {
			t.Errorf("%s: session %t", tt.name, got)
		}
		if got := matchesPeer(tt.p, gateway); got != tt.gateway {
			t.Errorf("%s: gateway %t", tt.name, got)
		}
	}
}

func quotaOf(count uint64, per time.Duration, unit rate.Unit, burst uint64) wire.Quota {
	return wire.Quota{Rate: rate.Rate{Count: count, Per: per, Unit: unit}, Burst: burst}
}

// rule makes a rule that ends at a time of the boot clock; 0 is never.
func rule(prefix string, action rulemap.Action, until uint64) rulemap.Rule {
	return rulemap.Rule{
		Prefix: netip.MustParsePrefix(prefix), Action: action, Until: cmp.Or(until, rulemap.Forever),
		Limit: wire.Limit{Packets: quotaOf(1, time.Second, rate.Packets, 1)},
	}
}

// Each rule decides from when the last one before it ends, and after all of them the policies do.
func TestThreats(t *testing.T) {
	const allow, block, limit = rulemap.Allow, rulemap.Block, rulemap.Limit
	const never = rulemap.Forever
	peer := Peer{Addr: netip.MustParseAddr("10.1.0.2"), Port: 22}
	high, low := newTestConfig(t, 1000), newTestConfig(t, 2)
	const policy = "a limit of 2pps, burst 2 (policy default)"
	const own = "a limit of 1pps, burst 1 for 10.0.0.0/8"
	ruled := rule("10.0.0.0/8", limit, 0)
	ruled.PolicyID = high.Policies[0].ID()
	other := rule("10.0.0.0/8", limit, 0)
	other.PolicyID = 77
	tests := []struct {
		name   string
		config policymap.Config
		rules  []rulemap.Rule
		want   []threat
	}{
		{"nothing", high, nil, nil},
		{"policy", low, nil, []threat{{policy, 0, never}}},
		{"block", low, []rulemap.Rule{rule("10.0.0.0/8", block, 0)}, []threat{{"blocking 10.0.0.0/8", 0, never}}},
		{"block for a while", high, []rulemap.Rule{rule("10.0.0.0/8", block, 5)}, []threat{{"blocking 10.0.0.0/8", 0, 5}}},
		{"allow", low, []rulemap.Rule{rule("10.0.0.0/8", allow, 0)}, nil},
		{"allow for a while", low, []rulemap.Rule{rule("10.0.0.0/8", allow, 5)}, []threat{{policy, 5, never}}},
		{"allow goes first", low, []rulemap.Rule{rule("10.0.0.0/8", block, 0), rule("10.0.0.0/8", allow, 0)}, nil},
		{"longer allow", low, []rulemap.Rule{rule("10.0.0.0/8", block, 0), rule("10.1.0.0/16", allow, 0)}, nil},
		{"longer block", high, []rulemap.Rule{rule("10.0.0.0/8", allow, 0), rule("10.1.0.0/16", block, 0)},
			[]threat{{"blocking 10.1.0.0/16", 0, never}}},
		{"allow ends before", high, []rulemap.Rule{rule("10.0.0.0/8", block, 9), rule("10.1.0.0/16", allow, 5)},
			[]threat{{"blocking 10.0.0.0/8", 5, 9}}},
		{"allow ends after", high, []rulemap.Rule{rule("10.0.0.0/8", block, 9), rule("10.1.0.0/16", allow, 9)}, nil},
		{"one after the other", low,
			[]rulemap.Rule{rule("10.1.0.2/32", allow, 3), rule("10.1.0.0/16", block, 2), rule("10.0.0.0/8", block, 4), rule("0.0.0.0/0", allow, 6)},
			[]threat{{"blocking 10.0.0.0/8", 3, 4}, {policy, 6, never}}},
		{"limit", high, []rulemap.Rule{ruled}, []threat{{own, 0, never}}},
		{"limit of another policy", high, []rulemap.Rule{other}, nil},
		{"limit beside a policy", low, []rulemap.Rule{other}, []threat{{policy, 0, never}}},
	}
	for _, tt := range tests {
		if got := threats(tt.rules, &tt.config, peer); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// newTestConfig is the default policy alone, with a limit in packets a second.
func newTestConfig(t *testing.T, pps uint64) policymap.Config {
	t.Helper()
	config := policymap.NewConfig()
	limit := wire.Limit{Packets: quotaOf(pps, time.Second, rate.Packets, pps)}
	if err := config.Set(policymap.Policy{Name: policymap.Default, Limit: limit}, [policymap.MaxPolicies][bpf.VerdictLen]bpf.Counter{}); err != nil {
		t.Fatal(err)
	}
	return config
}

// Only what is as bad already, from now on and for as long, excuses what a change brings about.
func TestNewThreats(t *testing.T) {
	peer := Peer{Addr: netip.MustParseAddr("10.1.0.2")}
	const now, soon, later = 0, 5, 9
	tests := []struct {
		name          string
		before, after []threat
		refused       bool
	}{
		{"none", nil, nil, false},
		{"gone", []threat{{"a", now, later}}, nil, false},
		{"new", nil, []threat{{"a", now, later}}, true},
		{"as before", []threat{{"a", now, later}}, []threat{{"a", now, later}}, false},
		{"another", []threat{{"a", now, later}}, []threat{{"b", now, later}}, true},
		{"earlier", []threat{{"a", soon, later}}, []threat{{"a", now, later}}, true},
		{"starts later", []threat{{"a", now, later}}, []threat{{"a", soon, later}}, false},
		{"longer", []threat{{"a", now, soon}}, []threat{{"a", now, later}}, true},
		{"shorter", []threat{{"a", now, later}}, []threat{{"a", now, soon}}, false},
		{"one more", []threat{{"a", now, later}}, []threat{{"a", now, later}, {"b", now, later}}, true},
	}
	for _, tt := range tests {
		if err := refuseNew(tt.before, tt.after, peer); (err != nil) != tt.refused {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestWithRules(t *testing.T) {
	const allow, block = rulemap.Allow, rulemap.Block
	held := []rulemap.Rule{rule("10.0.0.0/8", allow, 7), rule("10.0.0.0/8", block, 0)}
	fresh := []rulemap.Rule{rule("10.0.0.0/8", allow, 3), rule("10.1.0.0/16", block, 0), rule("10.2.0.0/16", block, 0)}
	want := []rulemap.Rule{held[1], fresh[0], fresh[1]}
	got := withRules(slices.Clone(held), fresh, netip.MustParseAddr("10.1.0.2"))
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

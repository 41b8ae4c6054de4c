package main

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/cmd/headgate/internal/prefixlist"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
)

func testClock() clock { return clock{wall: testNow(), boot: testBoot} }

func TestRuleView(t *testing.T) {
	config := testConfig(t)
	prefix := netip.MustParsePrefix("203.0.113.0/24")
	at := testNow().Add(3 * time.Second)
	tests := []struct {
		name string
		rule rulemap.Rule
		want render.Rule
	}{
		{
			"limit",
			rulemap.Rule{
				Action: rulemap.Limit, Until: rulemap.Forever, PolicyID: 2,
				Limit: wire.Limit{Packets: packetQuota(t, "100pps", 200)},
			},
			render.Rule{Action: "limit", Limit: render.Limit{Rate: "100pps", Burst: 200}, Policy: "dns", Origin: "cli"},
		},
		{
			"limit of a policy that is gone",
			rulemap.Rule{Action: rulemap.Limit, Until: rulemap.Forever, PolicyID: 9},
			render.Rule{Action: "limit", Policy: "#9", Origin: "cli"},
		},
		{
			"block for a time, rounded up",
			rulemap.Rule{Action: rulemap.Block, Until: testBoot + uint64(2*time.Second) + 1, Origin: rulemap.HandDown},
			render.Rule{Action: "block", Expires: &at, ExpiresIn: 3, Origin: "handdown"},
		},
		{
			"allow",
			rulemap.Rule{Action: rulemap.Allow, Until: rulemap.Forever, Origin: rulemap.Config},
			render.Rule{Action: "allow", Origin: "config"},
		},
	}
	for _, tt := range tests {
		tt.rule.Prefix, tt.want.Prefix = prefix, prefix.String()
		if diff := cmp.Diff(tt.want, ruleView(tt.rule, &config, testClock())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

type fakeRules map[string][]rulemap.Rule

func (f fakeRules) Get(p netip.Prefix) ([]rulemap.Rule, error) {
	return f[wire.Prefix(p).String()], nil
}

func TestLongestMatch(t *testing.T) {
	rules := fakeRules{
		"0.0.0.0/0":       {{PolicyID: 1}},
		"203.0.113.0/24":  {{PolicyID: 2}, {PolicyID: 20}},
		"203.0.113.7/32":  {{PolicyID: 3}},
		"2001:db8::/32":   {{PolicyID: 4}},
		"2001:db8::1/128": {{PolicyID: 5}},
	}
	for target, want := range map[string]uint16{
		"203.0.113.7":        3,
		"::ffff:203.0.113.7": 3,
		"203.0.113.8":        2,
		"203.0.113.0/24":     2,
		"203.0.113.0/25":     2,
		"203.0.112.0/23":     1,
		"192.0.2.1":          1,
		"2001:db8::1":        5,
		"2001:db8::2":        4,
		"2001:db9::":         0,
	} {
		prefix, _, err := prefixlist.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		got, ok, err := longestMatch(rules, prefix)
		if err != nil || got.PolicyID != want || ok != (want != 0) {
			t.Errorf("%s: rule %d, %t, %v; want %d", target, got.PolicyID, ok, err, want)
		}
	}
}

type brokenRules struct{}

func (brokenRules) Get(netip.Prefix) ([]rulemap.Rule, error) { return nil, errBroken }

func TestLongestMatchError(t *testing.T) {
	if _, _, err := longestMatch(brokenRules{}, netip.MustParsePrefix("192.0.2.1/32")); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

func TestClock(t *testing.T) {
	now := testClock()
	if got := now.at(testBoot - uint64(time.Minute)); !got.Equal(testNow().Add(-time.Minute)) {
		t.Errorf("a minute ago: %s", got)
	}
	if at, seconds := now.expiry(testBoot + uint64(time.Minute)); seconds != 60 || !at.Equal(testNow().Add(time.Minute)) {
		t.Errorf("in a minute: %s, %d", at, seconds)
	}
	if _, seconds := now.expiry(testBoot - uint64(time.Minute)); seconds != 0 {
		t.Errorf("a minute ago: %d seconds left", seconds)
	}
}

package main

import (
	"net/netip"
	"testing"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
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
	ssh, gateway := lockout.Peer{Port: 22}, lockout.Peer{}
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

func TestWhichRuleDecides(t *testing.T) {
	rule := func(prefix string, action rulemap.Action) rulemap.Rule {
		return rulemap.Rule{Prefix: netip.MustParsePrefix(prefix), Action: action}
	}
	wide, narrow := rule("10.0.0.0/8", rulemap.Block), rule("10.1.0.0/16", rulemap.Limit)
	rules := []rulemap.Rule{wide, narrow, rule("2001:db8::/32", rulemap.Block)}
	for addr, want := range map[string]string{"10.1.2.3": "10.1.0.0/16", "10.2.0.1": "10.0.0.0/8", "2001:db8::1": "2001:db8::/32"} {
		if got, ok := longest(rules, netip.MustParseAddr(addr)); !ok || got.Prefix.String() != want {
			t.Errorf("%s: %s, want %s", addr, got.Prefix, want)
		}
	}
	if got, ok := longest(rules, netip.MustParseAddr("192.0.2.1")); ok {
		t.Errorf("found %s", got.Prefix)
	}
	tests := []struct {
		old, fresh rulemap.Rule
		want       bool
	}{
		{narrow, wide, true},
		{wide, narrow, false},
		{rule("10.0.0.0/8", rulemap.Allow), wide, true},
		{rule("10.0.0.0/8", rulemap.Limit), wide, false},
		{wide, wide, false}, // the new one takes its place
	}
	for _, tt := range tests {
		if got := goesFirst(tt.old, tt.fresh); got != tt.want {
			t.Errorf("%v before %v: %t", tt.old, tt.fresh, got)
		}
	}
}

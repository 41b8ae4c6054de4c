package agentfake

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/admin"
)

// Fleet implements admin.Agent: three machines, one of them new, and a limit of each kind.
func (a *Agent) Fleet() (admin.Fleet, error) {
	if a.Off {
		return admin.Fleet{}, a.noFleet()
	}
	seen := Noon()
	return admin.Fleet{
		Self: "web-1",
		Members: []admin.FleetMember{
			{Name: "web-1", Self: true, Version: "v1.2.3", Started: Noon().Add(-90 * time.Minute), SeenSeconds: 0.4, Store: "up", RoundTripSeconds: 0.00031, DelaySeconds: 0.002},
			{Name: "web-2", Version: "v1.2.3", Started: Noon().Add(-50 * time.Hour), SeenSeconds: 1.5, Store: "up", RoundTripSeconds: 0.0012, DelaySeconds: 0.012},
			{Name: "web-3", Version: "v1.2.4", Started: Noon().Add(-time.Minute), SeenSeconds: 8.25, Store: "down", Behind: 3, DelaySeconds: 0.25},
		},
		SeenAt: &seen,
		Store: admin.FleetStore{
			Mode: "single", Addrs: []string{"127.0.0.1:6380"}, Health: "up", Since: &seen, RoundTripSeconds: 0.00031, InFlight: 2,
			Calls: 123456, RoundTrips: 45678, Timeouts: 7, Errors: 1,
		},
		Rules: admin.FleetRules{Total: 42, Followed: true, Spared: 1, Published: 12, Received: 31},
		Limits: []admin.FleetLimit{
			{Zone: "perip", Algorithm: "leaky", Rate: "10r/s", Here: "3.33r/s", OnStoreFailure: []string{"local"}},
			{Zone: "slots", Algorithm: "concurrent", Concurrent: 6, Here: "2 at a time", OnStoreFailure: []string{"local", "closed"}},
		},
	}, nil
}

// FleetRules implements admin.Agent: one of each kind.
func (a *Agent) FleetRules() ([]admin.KnownRule, error) {
	if a.Off {
		return nil, a.noFleet()
	}
	end := Noon().Add(90 * time.Second)
	return []admin.KnownRule{
		{Prefix: netip.MustParsePrefix("192.0.2.7/32"), Action: "block", By: "web-2", Person: true, Reason: "scans", Spared: "an allow rule for 192.0.2.0/24 (config)"},
		{Prefix: netip.MustParsePrefix("198.51.100.0/24"), Action: "limit", Rate: "100pps", Burst: 100, Bandwidth: "10Mbit/s", BandwidthBurst: 1_000_000, By: "web-1", Person: true, InForce: true},
		{Prefix: netip.MustParsePrefix("203.0.113.7/32"), Action: "block", Expires: &end, By: "web-3", InForce: true},
		{Prefix: netip.MustParsePrefix("2001:db8::/32"), Action: "allow", InForce: true},
	}, nil
}

func (a *Agent) noFleet() error {
	return fmt.Errorf("a fleet is %w; add a redis section", admin.ErrOff)
}

// SetFleet implements admin.Agent.
// What is in 192.0.2.0/24 is spared.
func (a *Agent) SetFleet(rules []admin.FleetRule) (spared []admin.SparedPrefix, err error) {
	if a.Off {
		return nil, a.noFleet()
	}
	for _, r := range rules {
		a.called("fleet %s %s %s/%d %s/%d for %s %q", r.Action, r.Prefix, r.Limit.Rate, r.Limit.Burst, r.Limit.Bandwidth, r.Limit.BandwidthBurst, r.For, r.Reason)
		if netip.MustParsePrefix("192.0.2.0/24").Overlaps(r.Prefix) {
			spared = append(spared, admin.SparedPrefix{Prefix: r.Prefix, Reason: "an allow rule for 192.0.2.0/24 (config)"})
		}
	}
	return spared, a.FleetError
}

// UnsetFleet implements admin.Agent. The fleet has rules for the first prefix that is named only.
func (a *Agent) UnsetFleet(prefixes []netip.Prefix) ([]netip.Prefix, error) {
	switch {
	case a.Off:
		return nil, a.noFleet()
	case a.FleetError != nil:
		return nil, a.FleetError
	}
	a.called("fleet unset %s", prefixes)
	return prefixes[:1], nil
}

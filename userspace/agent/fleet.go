package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/fleet"
	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/headgate/headgate/userspace/ruleset"
)

// member returns the member of the fleet that this machine is.
func (a *Agent) member() (*fleet.Fleet, error) {
	if f := a.fleet.Load(); f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("a fleet is %w: the configuration has no redis section", admin.ErrOff)
}

// Fleet implements admin.Agent.
func (a *Agent) Fleet() (admin.Fleet, error) {
	f, err := a.member()
	if err != nil {
		return admin.Fleet{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	status := f.Status(ctx)
	view := admin.Fleet{
		Self: status.Here.Name, Members: []admin.FleetMember{}, Error: status.Error,
		Rules: admin.FleetRules{
			InForce: status.Rules, Spared: status.Spared,
			Published: status.Published, Withheld: status.Withheld, Received: status.Received,
		},
	}
	if !status.Seen.IsZero() {
		view.SeenAt = &status.Seen
	}
	for _, m := range status.Members {
		view.Members = append(view.Members, memberView(m))
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	if s := a.state.sharing; s != nil {
		view.Store = storeView(s.redis, status.Store)
	}
	view.Limits = limitViews(a.state.rules.live.Shares())
	return view, nil
}

func limitViews(shares []ruleset.Share) []admin.FleetLimit {
	all := []admin.FleetLimit{}
	for _, s := range shares {
		view := admin.FleetLimit{
			Zone: s.Zone, Algorithm: string(s.Algorithm), Rate: s.Quota, Concurrent: s.Slots, Here: s.Here, OnStoreFailure: []string{},
		}
		for _, f := range s.Failures {
			view.OnStoreFailure = append(view.OnStoreFailure, string(f))
		}
		all = append(all, view)
	}
	return all
}

func memberView(m fleet.Member) admin.FleetMember {
	return admin.FleetMember{
		Name: m.Name, Self: m.Self, Version: m.Version, Started: m.Started, SeenSeconds: m.Seen.Seconds(),
		Store: string(m.Store), RoundTripSeconds: m.RoundTrip.Seconds(), Behind: m.Behind, DelaySeconds: m.Delay.Seconds(),
	}
}

func storeView(c config.Redis, s redisconn.State) admin.FleetStore {
	view := admin.FleetStore{
		Mode: c.Mode, Addrs: slices.Clone(c.Addrs), Health: string(s.Health), Error: s.Error, RoundTripSeconds: s.RoundTrip.Seconds(),
		InFlight: s.InFlight, Calls: s.Calls, RoundTrips: s.RoundTrips, Timeouts: s.Timeouts, Errors: s.Errors, Busy: s.Busy,
		LeftAlone: s.LeftAlone, Opened: s.Opened, Probes: s.Probes,
	}
	if !s.Since.IsZero() {
		view.Since = &s.Since
	}
	return view
}

// SetFleet implements admin.Agent.
func (a *Agent) SetFleet(rules []admin.FleetRule) error {
	f, err := a.member()
	if err != nil {
		return err
	}
	all := make([]fleet.Rule, len(rules))
	for i, r := range rules {
		all[i] = fleet.Rule{Prefix: r.Prefix, Action: r.Action, Limit: r.Limit, For: r.For, Person: true, Reason: r.Reason}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return fleetFault(f.Set(ctx, all))
}

// UnsetFleet implements admin.Agent.
func (a *Agent) UnsetFleet(prefixes []netip.Prefix) ([]netip.Prefix, error) {
	f, err := a.member()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	had, err := f.Unset(ctx, prefixes)
	return had, fleetFault(err)
}

// fleetFault returns an error of a fleet as admin wants it.
func fleetFault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fleet.ErrTooMany), errors.Is(err, fleet.ErrFull), errors.Is(err, fleet.ErrWrong):
		return admin.Refusal{Err: err}
	default:
		return fmt.Errorf("%w: %w", admin.ErrAway, err)
	}
}

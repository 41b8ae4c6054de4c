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

// publisher returns the member that rules are published by. Without a fleet section there is none: it says how many may be.
func (a *Agent) publisher() (*fleet.Fleet, error) {
	f, err := a.member()
	if err != nil {
		return nil, err
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.state.member.config == (config.Fleet{}) {
		return nil, fmt.Errorf("rules for a fleet are %w: the configuration has no fleet section; add fleet: {}", admin.ErrOff)
	}
	return f, nil
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
			Total: status.Rules, Followed: status.Follows, Spared: status.Spared,
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
func (a *Agent) SetFleet(rules []admin.FleetRule) ([]admin.SparedPrefix, error) {
	f, err := a.publisher()
	if err != nil {
		return nil, err
	}
	all, prefixes := make([]fleet.Rule, len(rules)), make([]netip.Prefix, len(rules))
	for i, r := range rules {
		prefixes[i] = r.Prefix
		all[i] = fleet.Rule{Prefix: r.Prefix, Action: r.Action, Limit: r.Limit, For: r.For, Person: true, Reason: r.Reason}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := f.Set(ctx, all); err != nil {
		return nil, fleetFault(err)
	}
	return sparedOf(f.Spared(prefixes)), nil
}

func sparedOf(reasons map[netip.Prefix]string) (all []admin.SparedPrefix) {
	for prefix, reason := range reasons {
		all = append(all, admin.SparedPrefix{Prefix: prefix, Reason: reason})
	}
	slices.SortFunc(all, func(a, b admin.SparedPrefix) int { return a.Prefix.Compare(b.Prefix) })
	return all
}

// UnsetFleet implements admin.Agent.
func (a *Agent) UnsetFleet(prefixes []netip.Prefix) ([]netip.Prefix, error) {
	f, err := a.publisher()
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
	case errors.Is(err, fleet.ErrWrong), errors.Is(err, fleet.ErrTooMany), errors.Is(err, fleet.ErrFull):
		return admin.Refusal{Err: err}
	case errors.Is(err, fleet.ErrNotHere):
		return err // it was done, whoever is at fault now
	default:
		if mend := redisconn.Mend(err); redisconn.Answered(err) && mend != "" {
			err = fmt.Errorf("%w; %s", err, mend)
		}
		return away{err}
	}
}

// away is an error of Redis in its own words: none in time, or which it was.
type away struct{ error }

// Is makes it an admin.ErrAway.
func (away) Is(target error) bool { return target == admin.ErrAway }

// Unwrap returns what was wrong.
func (a away) Unwrap() error { return a.error }

package agent

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// Zones implements admin.Agent.
func (a *Agent) Zones() []admin.Zone {
	live, changed := a.state.rules.live, a.state.rules.changes()
	h, counters := live.Config(), live.Counters()
	all := make([]admin.Zone, len(h.Zones))
	for i, z := range h.Zones {
		all[i] = zoneView(z)
		_, all[i].Changed = changed[z.Name]
		if n := slices.IndexFunc(counters.Zones, func(c ruleset.ZoneCounters) bool { return c.Zone == z.Name }); n >= 0 {
			count(&all[i], counters.Zones[n])
		}
	}
	return all
}

// zoneView returns a zone without counts.
func zoneView(z config.Zone) admin.Zone {
	view := admin.Zone{
		Name: z.Name, Key: []string{}, Algorithm: string(z.Algorithm), Rate: z.Quota.Text, Concurrent: z.Slots,
		Overrides: len(z.Overrides), MaxKeys: z.MaxKeys, Store: cmp.Or(z.Store, config.StoreMemory),
	}
	for _, p := range z.Key {
		view.Key = append(view.Key, p.String())
	}
	return view
}

func count(view *admin.Zone, c ruleset.ZoneCounters) {
	view.Keys = int64(c.Keyed.Keys)
	view.Allowed, view.Delayed, view.Refused = c.Allowed, c.Delayed, c.Refused
	view.WouldDelay, view.WouldRefuse = c.WouldDelay, c.WouldRefuse
	view.EvictedLive = c.Keyed.EvictedLive
}

// SetZone implements admin.Agent.
func (a *Agent) SetZone(name string, change admin.ZoneChange) (admin.Zone, error) {
	a.changing.Lock()
	err := a.setZone(name, change)
	a.changing.Unlock()
	if err != nil {
		return admin.Zone{}, err
	}
	for _, z := range a.Zones() {
		if z.Name == name {
			return z, nil
		}
	}
	return admin.Zone{}, fmt.Errorf("zone %q: %w", name, admin.ErrNotFound)
}

func (a *Agent) setZone(name string, change admin.ZoneChange) error {
	r := &a.state.rules
	i := slices.IndexFunc(r.configured.Zones, func(z config.Zone) bool { return z.Name == name })
	if i < 0 {
		return fmt.Errorf("zone %q: %w", name, admin.ErrNotFound)
	}
	z := r.configured.Zones[i]
	if concurrent := z.Algorithm == config.Concurrent; concurrent != (change.Slots > 0) {
		return admin.Refusal{Err: fmt.Errorf("zone %q: %s", name, wants(concurrent))}
	}
	z.Quota, z.Slots = change.Quota, change.Slots
	if err := r.set(z); err != nil {
		return admin.Refusal{Err: err}
	}
	return nil
}

func wants(concurrent bool) string {
	if concurrent {
		return "it counts requests at a time and has no rate; give it a number of those"
	}
	return "it has a rate; give it one, as 10r/s"
}

// Peek implements admin.Agent.
func (a *Agent) Peek(zone string, key []string) ([]admin.KeyState, error) {
	states, err := a.state.rules.live.Peek(zone, key, a.clock())
	return a.keyStates(zone, states, err)
}

// TopKeys implements admin.Agent.
func (a *Agent) TopKeys(zone string, n int) ([]admin.KeyState, error) {
	live, now := a.state.rules.live, a.clock()
	states, err := live.Top(zone, n, now)
	for i, s := range states {
		// Of a key that several rules limit, the first one's view has to do.
		if uses, err := live.Peek(zone, s.Parts, now); err == nil && len(uses) > 0 {
			states[i] = uses[0]
		}
	}
	return a.keyStates(zone, states, err)
}

// Reset implements admin.Agent.
func (a *Agent) Reset(zone string, key []string) (bool, error) {
	known, err := a.state.rules.live.Reset(zone, key)
	if err != nil {
		return false, a.fault(zone, err)
	}
	return known, nil
}

// fault returns an error about a zone as admin wants it: that there is none, or that the caller got something wrong.
func (a *Agent) fault(zone string, err error) error {
	exists := func(z config.Zone) bool { return z.Name == zone }
	if !slices.ContainsFunc(a.state.rules.live.Config().Zones, exists) {
		return noZone{err}
	}
	return admin.Refusal{Err: err}
}

// noZone is an error that names the zones that there are, where one was asked for that there is not.
type noZone struct{ error }

// Is makes it an admin.ErrNotFound.
func (noZone) Is(target error) bool { return target == admin.ErrNotFound }

func (a *Agent) keyStates(zone string, states []ruleset.KeyState, err error) ([]admin.KeyState, error) {
	if err != nil {
		return nil, a.fault(zone, err)
	}
	all := make([]admin.KeyState, len(states))
	for i, s := range states {
		all[i] = admin.KeyState{
			Zone: s.Zone, Rule: s.Rule, Key: s.Key, Parts: s.Parts, Rate: s.Quota,
			Limit: s.Result.Limit, Remaining: s.Result.Remaining, Owes: float64(s.Owed) / 1000,
			RetryAfterSeconds: max(0, s.Result.RetryAfter.Seconds()), ResetSeconds: s.ResetAfter.Seconds(), Store: answeredBy(s.Store),
		}
	}
	return all, nil
}

// answeredBy names who knows a key that machines share; empty for one that they do not.
func answeredBy(w ruleset.Way) string {
	switch w {
	case ruleset.Redis:
		return config.StoreRedis
	case ruleset.Local:
		return string(config.FailLocal)
	default:
		return ""
	}
}

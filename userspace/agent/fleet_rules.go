package agent

import (
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/fleet"
)

// FleetRules implements admin.Agent.
func (a *Agent) FleetRules() ([]admin.KnownRule, error) {
	f, err := a.member()
	if err != nil {
		return nil, err
	}
	follows := f.Known().Follows
	held, err := a.heldOfFleet(follows)
	if err != nil {
		return nil, err
	}
	rules, now := f.Rules(), time.Now()
	all := make([]admin.KnownRule, len(rules))
	for i, r := range rules {
		all[i] = knownView(r, now)
		switch {
		case r.Spared != "":
		case !follows:
			all[i].Spared = "this machine follows no rules of a fleet"
		case !r.InForce:
			all[i].Spared = "the kernel does not have it yet; see the log"
		case !held[fleetPlace{r.Prefix, r.Action}]:
			all[i].InForce, all[i].Spared = false, "the kernel does not have it: a rule of this machine is at the prefix, it is for a part of a source, or it was unset here and comes back within a minute"
		}
	}
	return all, nil
}

// fleetPlace is where the kernel may have a rule of the fleet.
type fleetPlace struct {
	prefix netip.Prefix
	action config.Action
}

// heldOfFleet returns where the kernel has rules of the fleet: of those that it was told it leaves out some.
func (a *Agent) heldOfFleet(follows bool) (map[fleetPlace]bool, error) {
	held := map[fleetPlace]bool{}
	if !follows {
		return held, nil
	}
	rules, err := a.state.kernel.FleetRules()
	for _, r := range rules {
		held[fleetPlace{r.Prefix, r.Action}] = true
	}
	return held, err
}

func knownView(r fleet.Known, now time.Time) admin.KnownRule {
	view := admin.KnownRule{
		Prefix: r.Prefix, Action: string(r.Action), By: r.By, Person: r.Person, Reason: r.Reason, InForce: r.InForce, Spared: r.Spared,
		Burst: r.Limit.Burst, BandwidthBurst: r.Limit.BandwidthBurst,
	}
	if !r.Limit.Rate.IsZero() {
		view.Rate = r.Limit.Rate.String()
	}
	if !r.Limit.Bandwidth.IsZero() {
		view.Bandwidth = r.Limit.Bandwidth.String()
	}
	if r.For > 0 {
		end := now.Add(r.For).Round(time.Second).UTC()
		view.Expires = &end
	}
	return view
}

package lockout

import (
	"net/netip"
	"slices"

	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
)

// Fleet refuses a change to the rules of a fleet. What other machines allow or limit by themselves is not known here, nor which
// of their interfaces packets arrive on: whoever must reach this machine is taken to have to reach them too, and only rules
// of the fleet, which held has of an address, can let him. Limits are of the default policy.
func (g Guard) Fleet(held func(netip.Addr) ([]rulemap.Rule, error), change Change) error {
	config := policymap.Config{Policies: []policymap.Policy{{Name: policymap.Default}}}
	for _, peer := range g.All() {
		known, err := held(peer.Addr)
		if err != nil {
			return err
		}
		before := fleets(known)
		after := fleets(change(slices.Clone(before), peer.Addr))
		if err := refuseNew(threats(before, &config, peer), threats(after, &config, peer), peer); err != nil {
			return err
		}
	}
	return nil
}

// fleets returns those of rules that are of a fleet, with limits of a policy with the number 0.
func fleets(rules []rulemap.Rule) (all []rulemap.Rule) {
	for _, r := range rules {
		if r.Origin == rulemap.Fleet || r.Origin == rulemap.FleetHandDown {
			r.PolicyID = 0
			all = append(all, r)
		}
	}
	return all
}

package change

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
)

// SetPolicy puts a policy into a configuration; a new one starts with empty counters and buckets.
func SetPolicy(i *loader.Instance, config *policymap.Config, policy policymap.Policy) error {
	stats, err := i.Stats()
	if err != nil {
		return err
	}
	before := config.Policies
	if err := config.Set(policy, stats.Slots()); err != nil {
		return err
	}
	return ResetNew(i, before, config)
}

// ResetNew empties what the policies that were not there before find in their slots, so that nobody owes
// them anything.
func ResetNew(i *loader.Instance, before []policymap.Policy, config *policymap.Config) error {
	for _, p := range config.Policies {
		known := func(old policymap.Policy) bool { return old.ID() == p.ID() }
		if slices.ContainsFunc(before, known) {
			continue
		}
		if err := errors.Join(i.Buckets().ResetShared(p.Slot()), i.Heat().ClearSlot(p.Slot())); err != nil {
			return err
		}
	}
	return nil
}

// DeletePolicy deletes the policy of that name, which must not be the default one, and says whether
// there was one.
func DeletePolicy(i *loader.Instance, name string) (bool, error) {
	config, err := i.Policies().Load()
	if err != nil {
		return false, err
	}
	policy, ok := config.Policy(name)
	if !ok {
		return false, nil
	}
	if err := checkUnused(i, policy); err != nil {
		return false, err
	}
	if err := config.Delete(name); err != nil {
		return false, err
	}
	return true, i.Policies().Store(config)
}

// checkUnused refuses to delete a policy that limit rules name.
func checkUnused(i *loader.Instance, policy policymap.Policy) error {
	rules, err := i.Rules().List()
	if err != nil {
		return err
	}
	return InUse(policy, rules)
}

// InUse returns an error where limit rules name a policy: without it they would be left without a
// meaning.
func InUse(policy policymap.Policy, rules []rulemap.Rule) error {
	var first netip.Prefix
	count := 0
	for _, r := range rules {
		if r.PolicyID != policy.ID() {
			continue
		}
		if count++; count == 1 {
			first = r.Prefix
		}
	}
	switch count {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("policy %q has a limit of its own for %s; unset that before", policy.Name, first)
	default:
		return fmt.Errorf("policy %q has limits of its own for %d prefixes (%s first); unset them before",
			policy.Name, count, first)
	}
}

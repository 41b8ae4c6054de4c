package change

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
)

// LimitRule returns the limit rule of exactly a prefix for a policy, to be changed: one without a limit
// where there is none. It refuses a prefix that is a part of a source, by a policymap.PartError, also
// where only what a trial goes back to has such sources, a policy that there is not, and a prefix that
// has a limit for another policy.
func LimitRule(i *loader.Instance, prefix netip.Prefix, policyName string) (rulemap.Rule, error) {
	var none rulemap.Rule
	configs, err := i.Policies().Possible()
	if err != nil {
		return none, err
	}
	for _, config := range configs {
		if err := config.CheckWhole(prefix); err != nil {
			return none, Refusal{err}
		}
	}
	config := configs[0]
	policy, ok := config.Policy(policyName)
	if !ok {
		return none, Refusal{fmt.Errorf("%w: %q; `headgate policies` lists them", policymap.ErrNoPolicy, policyName)}
	}
	rules, err := i.Rules().Get(prefix)
	if err != nil {
		return none, err
	}
	n := slices.IndexFunc(rules, func(r rulemap.Rule) bool { return r.Action == rulemap.Limit })
	if n < 0 {
		return rulemap.Rule{Prefix: prefix, Action: rulemap.Limit, PolicyID: policy.ID()}, nil
	}
	if rule := rules[n]; rule.PolicyID != policy.ID() {
		return none, fmt.Errorf("%s has a limit for the policy %q, and a prefix has room for one limit; "+
			"`headgate unset %s` first", prefix, config.PolicyLabel(rule.PolicyID), prefix)
	}
	return rules[n], nil
}

// CheckSources refuses sources that limits are set for parts of, by a policymap.PartError: rules are
// those that are to hold.
func CheckSources(config *policymap.Config, rules []rulemap.Rule) error {
	for _, r := range rules {
		if r.Action != rulemap.Limit {
			continue
		}
		if err := config.CheckWhole(r.Prefix); err != nil {
			return Refusal{err}
		}
	}
	return nil
}

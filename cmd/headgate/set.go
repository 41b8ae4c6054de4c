package main

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/change"
	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
)

type setFlags struct {
	defaultFlags
	policy string
	lasts  time.Duration
	fleet  fleetFlags
}

// defaultFlags say how the default policy is changed. What is not given stays as it is.
type defaultFlags struct {
	limit    limitFlags
	overflow overflowFlag
	force    bool
}

func newSetCmd(e *env, g *global) *cobra.Command {
	f := &setFlags{}
	cmd := &cobra.Command{
		Use:   "set PREFIX|default",
		Short: "Limit the sources of a prefix, or change the default limit",
		Long: `Give the sources of a prefix a limit of their own in the place of the default one (or of the
one of --policy), each source with a bucket of its own; or change the default limit. What no flag
names stays as it is, but a new rate without a burst brings its default burst, and without --for the
limit of a prefix has no end. It takes effect at the next packet, and what a source owed is cut to
the new burst.

With --fleet the limit of a prefix holds on all machines that share the agent's Redis, on each for what it
sees. It is the whole limit then, in the place of each machine's default one.`,
		Example: `  headgate set default --rate 10kpps --burst 20k
  headgate set 203.0.113.0/24 --rate 100pps --for 10m
  headgate set 2001:db8::/32 --bandwidth 10Mbit/s
  headgate set default --bandwidth off
  headgate set 203.0.113.0/24 --rate 100pps --fleet
  headgate unset default`,
		Args:              exactlyOne("prefix, or default"),
		ValidArgsFunction: first(e.completeRules(g, policymap.Default)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := g.format(); err != nil {
				return err
			}
			if err := f.limit.check(); err != nil {
				return err
			}
			if err := f.fleet.check(cmd); err != nil {
				return err
			}
			if err := f.overflow.check(); err != nil {
				return err
			}
			if args[0] == policymap.Default {
				return e.setDefault(cmd, g, f)
			}
			return e.setPrefix(cmd, g, f, args[0])
		},
	}
	f.limit.register(cmd)
	f.overflow.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.policy, "policy", policymap.Default, "the policy whose limit the rule takes the place of")
	flags.DurationVar(&f.lasts, "for", 0, "end after this time, as 30s, 10m or 12h (default never)")
	flags.BoolVar(&f.force, "force", false, "also where it could cut off this SSH session")
	placeholders(cmd, map[string]string{"policy": "NAME", "for": "TIME"})
	f.fleet.register(cmd, e)
	completeFlag(cmd, "policy", e.completePolicies(g))
	return cmd
}

func (e *env) setDefault(cmd *cobra.Command, g *global, f *setFlags) error {
	for _, flag := range []string{"for", "policy", "fleet"} {
		if cmd.Flags().Changed(flag) {
			return usagef("the default limit takes no --%s; that is for the limit of a prefix", flag)
		}
	}
	if !f.limit.given() && f.overflow == "" {
		return usagef("set what? give --rate, --burst, --bandwidth, --bandwidth-burst or --overflow")
	}
	return e.changeDefault(g, f.defaultFlags)
}

// changeDefault changes the default policy in force.
func (e *env) changeDefault(g *global, f defaultFlags) error {
	return e.changing(g, func(i *loader.Instance) error {
		config, err := i.Policies().Load()
		if err != nil {
			return err
		}
		if err := e.applyDefault(i, &config, f, nil); err != nil {
			return err
		}
		if err := i.Policies().Store(config); err != nil {
			return err
		}
		policy, _ := config.Policy(policymap.Default)
		return e.print(g, render.Done{
			Action:  "set",
			Policy:  policymap.Default,
			Changed: 1,
			Text:    "default limit: " + policy.Limit.String() + f.overflow.words(),
		})
	})
}

// applyDefault changes the default policy of a configuration, or makes it. toCome are interfaces
// that the instance is about to be attached to.
func (e *env) applyDefault(i *loader.Instance, config *policymap.Config, f defaultFlags, toCome []int) error {
	policy, ok := config.Policy(policymap.Default)
	if !ok {
		policy = policymap.Policy{Name: policymap.Default}
	}
	limit, err := f.limit.apply(policy.Limit)
	if err != nil {
		return err
	}
	policy.Limit = limit
	if err := f.overflow.apply(&policy); err != nil {
		return err
	}
	if err := change.SetPolicy(i, config, policy); err != nil {
		return err
	}
	e.noticeSmallBurst(limit)
	return e.guard(f.force).Config(i, config, nil, toCome...)
}

func (e *env) setPrefix(cmd *cobra.Command, g *global, f *setFlags, arg string) error {
	if !f.limit.given() {
		return usagef("set what? give --rate, --burst, --bandwidth or --bandwidth-burst")
	}
	if f.overflow != "" {
		return usagef("the limit of a prefix takes no --overflow; that of its policy holds")
	}
	if err := checkLasts(cmd, f.lasts); err != nil {
		return err
	}
	prefixes, err := e.prefixArgs([]string{arg}, "")
	if err != nil {
		return err
	}
	if f.fleet.on {
		return e.setFleetPrefix(cmd, g, f, prefixes)
	}
	prefix := prefixes[0]
	return e.changing(g, func(i *loader.Instance) error {
		rule, err := f.rule(i, prefix)
		if err != nil {
			return err
		}
		rule.Until = e.until(f.lasts)
		if err := e.guard(f.force).Rules(i, lockout.Setting([]rulemap.Rule{rule})); err != nil {
			return err
		}
		e.noticeSmallBurst(rule.Limit)
		rule.Until = e.until(f.lasts) // again: the time counts from when it begins to hold
		if err := i.Rules().Set(rule); err != nil {
			return err
		}
		done := doneWith("limit", prefixes, fmt.Sprintf(" to %s%s%s", rule.Limit, f.inPolicy(), ending(f.lasts)))
		if rule.Limit.IsZero() {
			done.Text = fmt.Sprintf("%s has no limit%s%s; its sources are only counted", prefix, f.inPolicy(), ending(f.lasts))
		}
		done.Policy = f.policy
		return e.print(g, done)
	})
}

// setFleetPrefix publishes a limit for all machines.
func (e *env) setFleetPrefix(cmd *cobra.Command, g *global, f *setFlags, prefixes []netip.Prefix) error {
	if cmd.Flags().Changed("policy") {
		return usagef("a limit of the fleet is of the default policy, as machines have policies of their own; leave out --policy")
	}
	limit, err := f.limit.apply(wire.Limit{})
	if err != nil {
		return err
	}
	if limit.IsZero() {
		return usagef("a limit of the fleet needs a rate or a bandwidth; `headgate unset %s --fleet` takes one back", prefixes[0])
	}
	e.noticeSmallBurst(limit)
	setting, rules := fleetSetting(rulemap.Limit, limit, f.lasts, prefixes)
	if err := f.fleet.set(cmd, e, g, f.force, setting, rules); err != nil {
		return err
	}
	return e.print(g, doneWith("limit", prefixes, fmt.Sprintf(" to %s%s%s", limit, onAll, ending(f.lasts))))
}

// inPolicy says whose limit the rule takes the place of, where that is not the default one.
func (f *setFlags) inPolicy() string {
	if f.policy == policymap.Default {
		return ""
	}
	return " in policy " + f.policy
}

// rule returns the limit rule that the flags ask for; its end is left to the caller.
func (f *setFlags) rule(i *loader.Instance, prefix netip.Prefix) (rulemap.Rule, error) {
	rule, err := change.LimitRule(i, prefix, f.policy)
	if part, ok := errors.AsType[policymap.PartError](err); ok {
		return rule, usagef("%w, or attach with --ipv%d-prefix %d", err, part.Family(), prefix.Bits())
	}
	if err != nil {
		return rule, err
	}
	rule.Origin = rulemap.CLI
	rule.Limit, err = f.limit.apply(rule.Limit)
	return rule, err
}

package main

import (
	"net/netip"
	"slices"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/prefixlist"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
)

func newRulesCmd(e *env, g *global) *cobra.Command {
	var action string
	cmd := &cobra.Command{
		Use:   "rules [ADDRESS|PREFIX]",
		Short: "List the rules, or show the one that decides about an address",
		Long: `rules lists what is said of address prefixes, by prefix, as long as it holds. With an address
or a prefix it shows only the rule that decides about it: the longest prefix wins, and at one
prefix allow goes before block before limit.`,
		Example: `  headgate rules
  headgate rules --action block -o json
  headgate rules 203.0.113.7`,
		Args: atMostOne("address or prefix"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkAction(action); err != nil {
				return err
			}
			if len(args) == 0 {
				return listRules(e, g, action)
			}
			if action != "" {
				return usagef("--action chooses from the list; leave it out to ask about %s", args[0])
			}
			target, _, err := prefixlist.Parse(args[0])
			if err != nil {
				return usage(err)
			}
			return decidingRule(e, g, target)
		},
	}
	cmd.Flags().StringVar(&action, "action", "", "only those of one action: allow, block or limit")
	placeholders(cmd, map[string]string{"action": "ACTION"})
	completeFlag(cmd, "action", oneOf(rulemap.Allow.String(), rulemap.Block.String(), rulemap.Limit.String()))
	return cmd
}

func checkAction(action string) error {
	actions := []string{"", rulemap.Allow.String(), rulemap.Block.String(), rulemap.Limit.String()}
	if !slices.Contains(actions, action) {
		return usagef("action %q: use allow, block or limit", action)
	}
	return nil
}

func listRules(e *env, g *global, action string) error {
	return e.reading(g, func(i *loader.Instance) error {
		rules, err := i.Rules().List()
		if err != nil {
			return err
		}
		if action != "" {
			rules = slices.DeleteFunc(rules, func(r rulemap.Rule) bool { return r.Action.String() != action })
		}
		config, err := i.Policies().InForce(e.bootTime())
		if err != nil {
			return err
		}
		now := e.clock()
		views := make(render.Rules, 0, len(rules))
		for _, r := range rules {
			views = append(views, ruleView(r, &config, now))
		}
		return e.print(g, views)
	})
}

func decidingRule(e *env, g *global, target netip.Prefix) error {
	return e.reading(g, func(i *loader.Instance) error {
		rule, ok, err := longestMatch(i.Rules(), target)
		if err != nil {
			return err
		}
		decision := render.Decision{Target: prefixText(target)}
		if ok {
			config, err := i.Policies().InForce(e.bootTime())
			if err != nil {
				return err
			}
			view := ruleView(rule, &config, e.clock())
			decision.Rule = &view
		}
		return e.print(g, decision)
	})
}

// ruleGetter has the rules of exactly one prefix, the one that goes first first.
type ruleGetter interface {
	Get(netip.Prefix) ([]rulemap.Rule, error)
}

// longestMatch returns the rule that decides about all of a prefix.
func longestMatch(rules ruleGetter, target netip.Prefix) (rulemap.Rule, bool, error) {
	for bits := target.Bits(); bits >= 0; bits-- {
		found, err := rules.Get(netip.PrefixFrom(target.Addr(), bits))
		if err != nil {
			return rulemap.Rule{}, false, err
		}
		if len(found) > 0 {
			return found[0], true, nil
		}
	}
	return rulemap.Rule{}, false, nil
}

func ruleView(r rulemap.Rule, config *policymap.Config, now clock) render.Rule {
	view := render.Rule{
		Prefix: r.Prefix.String(),
		Action: r.Action.String(),
		Origin: r.Origin.String(),
	}
	if r.Action == rulemap.Limit {
		view.Limit = limitView(r.Limit)
		view.Policy = config.PolicyLabel(r.PolicyID)
	}
	if r.Until != rulemap.Forever {
		at, seconds := now.expiry(r.Until)
		view.Expires, view.ExpiresIn = &at, seconds
	}
	return view
}

// prefixText writes a prefix of one address as that address.
func prefixText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

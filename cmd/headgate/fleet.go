package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/admin"
)

func newFleetCmd(e *env, g *global) *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Show the machines that share a Redis, how Redis is, and which limits hold",
		Long: `fleet shows the machines whose agents share a Redis (the redis section of their files), the one that was
asked with a star: when each was last seen, and how Redis is as it sees it. BEHIND is how many changes of the
fleet's rules a machine has not got yet, which is 0 but for moments, and DELAY how long the last one that it got
was under way. Then how this machine finds Redis, how many rules for the kernel the fleet
has (fleet rules lists them), and for each zone with store: redis what a key may do on all machines together, and on this one
while Redis is away: with on_store_failure: local that is the limit divided by the number of machines.

block, allow, set and unset with --fleet change the fleet's rules; rules lists those in force here.
Where Redis does not answer, what was last seen is shown.`,
		Example: `  headgate fleet
  headgate fleet -o json
  headgate block 203.0.113.7 --fleet --for 1h`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.ask(g, func(c *admin.Client) error {
				fleet, err := c.Fleet(cmd.Context())
				if err != nil {
					return err
				}
				return e.print(g, render.Fleet{Fleet: fleet})
			})
		},
	}
	f.register(cmd, e)
	cmd.AddCommand(newFleetRulesCmd(e, g))
	return cmd
}

func newFleetRulesCmd(e *env, g *global) *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the fleet's rules, who published them and why, and whether they are in force here",
		Long: `rules lists the rules for the kernel that the fleet has, by prefix. BY is the machine that published a
rule: where somebody asked it to by block, allow or set --fleet, or, marked (handdown), where it handed
down an offender. HERE says whether the rule is in force on the machine that is asked, or why it is not.
Where Redis does not answer, the rules that are known here are listed.`,
		Example: `  headgate fleet rules
  headgate fleet rules -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.ask(g, func(c *admin.Client) error {
				rules, err := c.FleetRules(cmd.Context())
				if err != nil {
					return err
				}
				return e.print(g, render.FleetRules{Rules: rules, Now: e.now()})
			})
		},
	}
	f.register(cmd, e)
	return cmd
}

// onAll ends what is said of a change to the rules of a fleet.
const onAll = " on all machines"

// fleetFlags say that a verb is about the rules of all machines, which the agent publishes.
type fleetFlags struct {
	agentFlags
	on bool
}

func (f *fleetFlags) register(cmd *cobra.Command, e *env) {
	f.agentFlags.register(cmd, e)
	cmd.Flags().BoolVar(&f.on, "fleet", false, "on all machines that share the agent's Redis")
}

// check finds flags that only mean something with --fleet.
func (f *fleetFlags) check(cmd *cobra.Command) error {
	for _, flag := range []string{"socket", "token-file"} {
		if !f.on && cmd.Flags().Changed(flag) {
			return usagef("--%s says where the agent is, which is asked with --fleet only", flag)
		}
	}
	return nil
}

// set publishes rules, after it was asked whether they would cut off a peer.
func (f *fleetFlags) set(cmd *cobra.Command, e *env, g *global, force bool, s admin.FleetSetting, rules []rulemap.Rule) error {
	return f.change(e, g, force, lockout.Setting(rules), func(c *admin.Client) error {
		done, err := c.SetFleet(cmd.Context(), s)
		e.noticeSpared(done.Spared)
		return notDone("published", err)
	})
}

// noticeSpared tells of rules that are published and not in force on this machine.
func (e *env) noticeSpared(spared []admin.SparedPrefix) {
	for _, s := range spared[:min(len(spared), shown)] {
		e.notice("note: not in force for %s on this machine: %s", s.Prefix, s.Reason)
	}
	if more := len(spared) - shown; more > 0 {
		e.notice("note: nor for %d more; `headgate fleet rules` says why", more)
	}
}

// unset takes rules back, and returns the prefixes that had one.
func (f *fleetFlags) unset(cmd *cobra.Command, e *env, g *global, force bool, prefixes []netip.Prefix) (removed []netip.Prefix, err error) {
	err = f.change(e, g, force, lockout.Unsetting(prefixes), func(c *admin.Client) error {
		done, err := c.UnsetFleet(cmd.Context(), prefixes)
		if removed = done.Prefixes; len(removed) > 0 && err != nil {
			return fmt.Errorf("only %d of up to %d were taken back: %w", len(removed), len(prefixes), err)
		}
		return notDone("taken back", err)
	})
	return removed, err
}

// change asks the guard, and then the agent.
func (f *fleetFlags) change(e *env, g *global, force bool, change lockout.Change, do func(*admin.Client) error) error {
	if err := e.guardFleet(g, force, change); err != nil {
		return err
	}
	return f.ask(g, do)
}

// notDone says that nothing was done, where the agent refuses it. If only Redis did not answer, nobody knows.
func notDone(what string, err error) error {
	if p, refused := errors.AsType[*admin.Problem](err); refused && p.Status < http.StatusInternalServerError {
		return fmt.Errorf("nothing was %s: %w", what, err)
	}
	return err
}

// guardFleet refuses a change to the rules of a fleet that would cut off a peer, unless that is forced. What the fleet has
// already is not known where there is no instance, or where it may not be read.
func (e *env) guardFleet(g *global, force bool, change lockout.Change) error {
	held := func(netip.Addr) ([]rulemap.Rule, error) { return nil, nil }
	i, err := loader.OpenToRead(g.options(e))
	if err != nil {
		return e.guard(force).Fleet(held, change)
	}
	return closeAfter(i, e.guard(force).Fleet(i.Rules().About, change))
}

// fleetSetting is rules for prefixes as the agent is asked for them. The limit is of action limit.
func fleetSetting(action rulemap.Action, limit wire.Limit, lasts time.Duration, prefixes []netip.Prefix) (admin.FleetSetting, []rulemap.Rule) {
	s := admin.FleetSetting{Action: action.String()}
	if lasts > 0 {
		s.For = lasts.String()
	}
	if !limit.Packets.Rate.IsZero() {
		s.Rate, s.Burst = limit.Packets.Rate.String(), limit.Packets.Burst
	}
	if !limit.Bytes.Rate.IsZero() {
		s.Bandwidth, s.BandwidthBurst = limit.Bytes.Rate.String(), limit.Bytes.Burst
	}
	rules := make([]rulemap.Rule, len(prefixes))
	for n, p := range prefixes {
		s.Prefixes = append(s.Prefixes, p.String())
		rules[n] = rulemap.Rule{Prefix: p, Action: action, Until: rulemap.Forever, Origin: rulemap.Fleet, Limit: limit}
	}
	return s, rules
}

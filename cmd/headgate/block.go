package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
)

// shown is how many prefixes a verb names in words; JSON has them all.
const shown = 3

// ruleFlags are the flags of the verbs that make rules.
type ruleFlags struct {
	file  string
	lasts time.Duration
	force bool
	fleet fleetFlags
}

func newBlockCmd(e *env, g *global) *cobra.Command {
	cmd := newRuleCmd(e, g, rulemap.Block)
	cmd.Use = "block PREFIX... | --file FILE"
	cmd.Short = "Drop everything from an address or prefix"
	cmd.Long = `Drop every packet from these addresses and prefixes, from the next one on.

The longest prefix with a rule decides, and at one prefix allow goes before block before limit.
A rule with --for ends by itself, in the kernel. A list with a wrong line changes nothing.

With --fleet the agent publishes it to all machines that share its Redis, all of it or nothing. A
machine that is away learns it when it comes back. What protects an address on a machine, as an allow
rule or who administers it, keeps the rule from being in force there.`
	cmd.Example = `  headgate block 203.0.113.7
  headgate block 198.51.100.0/24 2001:db8::/32 --for 10m
  headgate block --file blocklist.txt
  headgate block 203.0.113.7 --fleet --for 1h`
	return cmd
}

func newAllowCmd(e *env, g *global) *cobra.Command {
	cmd := newRuleCmd(e, g, rulemap.Allow)
	cmd.Use = "allow PREFIX... | --file FILE"
	cmd.Short = "Let everything from an address or prefix pass, past all limits"
	cmd.Long = `Let every packet from these addresses and prefixes pass: no policy limits them.

The longest prefix with a rule decides, and at one prefix allow goes before block before limit. What
the agent has handed down inside an allowed prefix is lifted; other rules inside it stay.
A rule with --for ends by itself, in the kernel. With --fleet it holds on all machines that share the
agent's Redis.`
	cmd.Example = `  headgate allow 192.0.2.10
  headgate allow 10.0.0.0/8 --for 1h
  headgate allow 192.0.2.10 --fleet`
	return cmd
}

func newRuleCmd(e *env, g *global, action rulemap.Action) *cobra.Command {
	f := &ruleFlags{}
	cmd := &cobra.Command{
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.addRules(cmd, g, f, action, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.file, "file", "", "take a list from a file (- for standard input): one prefix a line, # starts a comment")
	flags.DurationVar(&f.lasts, "for", 0, "end after this time, as 30s, 10m or 12h (default never)")
	flags.BoolVar(&f.force, "force", false, "also where it could cut off this SSH session, or a default gateway")
	placeholders(cmd, map[string]string{"file": "FILE", "for": "TIME"})
	f.fleet.register(cmd, e)
	return cmd
}

func (e *env) addRules(cmd *cobra.Command, g *global, f *ruleFlags, action rulemap.Action, args []string) error {
	if _, err := g.format(); err != nil {
		return err
	}
	if err := checkLasts(cmd, f.lasts); err != nil {
		return err
	}
	if err := f.fleet.check(cmd); err != nil {
		return err
	}
	prefixes, err := e.prefixArgs(args, f.file)
	if err != nil {
		return err
	}
	if f.fleet.on {
		return e.addFleetRules(cmd, g, f, action, prefixes)
	}
	rules := make([]rulemap.Rule, len(prefixes))
	for n, p := range prefixes {
		rules[n] = rulemap.Rule{Prefix: p, Action: action}
	}
	return e.changing(g, func(i *loader.Instance) error {
		setUntil(rules, e.until(f.lasts))
		if err := e.guard(f.force).Rules(i, lockout.Setting(rules)); err != nil {
			return err
		}
		if action == rulemap.Block {
			if err := e.noticeAllowed(i, prefixes); err != nil {
				return err
			}
		}
		progress := e.progress(len(prefixes), action.String()+"ing")
		setUntil(rules, e.until(f.lasts)) // again: the time counts from when it begins to hold
		set, err := i.Rules().SetAll(rules, progress.set)
		progress.finish()
		if err != nil {
			return err
		}
		return e.printSet(g, action, prefixes, set, ending(f.lasts))
	})
}

// addFleetRules publishes rules for all machines.
func (e *env) addFleetRules(cmd *cobra.Command, g *global, f *ruleFlags, action rulemap.Action, prefixes []netip.Prefix) error {
	setting, rules := fleetSetting(action, wire.Limit{}, f.lasts, prefixes)
	if len(prefixes) > 0 {
		if err := f.fleet.set(cmd, e, g, f.force, setting, rules); err != nil {
			return err
		}
	}
	return e.print(g, doneWith(action.String(), prefixes, onAll+ending(f.lasts)))
}

// printSet says what became of the rules for prefixes.
func (e *env) printSet(g *global, action rulemap.Action, prefixes []netip.Prefix, set rulemap.Done, how string) error {
	if set.GaveWay > 0 && set.GaveWay == len(prefixes) {
		return fmt.Errorf("%s %s: %w; `headgate rules` shows it", action, someOf(prefixes), rulemap.ErrHeld)
	}
	if set.GaveWay > 0 {
		e.notice("note: %d of %d stay as they are, as rules of another origin say the same there, and for longer", set.GaveWay, len(prefixes))
	}
	switch {
	case set.Lifted == 1:
		e.notice("note: 1 rule for an offender inside was lifted")
	case set.Lifted > 1:
		e.notice("note: %d rules for offenders inside were lifted", set.Lifted)
	}
	done := doneWith(action.String(), prefixes, how)
	done.Changed -= set.GaveWay
	done.Lifted = set.Lifted
	return e.print(g, done)
}

// someOf names prefixes, or says how many there are.
func someOf(prefixes []netip.Prefix) string {
	if len(prefixes) > shown {
		return fmt.Sprintf("%d prefixes", len(prefixes))
	}
	var names []string
	for _, p := range prefixes {
		names = append(names, p.String())
	}
	return strings.Join(names, ", ")
}

// checkLasts finds a --for that is given by mistake.
func checkLasts(cmd *cobra.Command, lasts time.Duration) error {
	if cmd.Flags().Changed("for") && lasts <= 0 {
		return usagef("--for %s: use a duration above 0, as 30s, 10m or 12h", render.Duration(lasts))
	}
	return nil
}

// until returns the end of a rule that lasts so long from now; 0 is one without an end.
func (e *env) until(lasts time.Duration) uint64 {
	if lasts == 0 {
		return rulemap.Forever
	}
	return e.bootTime() + uint64(lasts)
}

func setUntil(rules []rulemap.Rule, until uint64) {
	for n := range rules {
		rules[n].Until = until
	}
}

func ending(lasts time.Duration) string {
	if lasts == 0 {
		return ""
	}
	return " for " + render.Duration(lasts)
}

// noticeAllowed tells of prefixes where an allow rule goes before the new block.
func (e *env) noticeAllowed(i *loader.Instance, prefixes []netip.Prefix) error {
	if len(prefixes) > shown {
		return nil // a list; looking at each would cost more than setting it
	}
	for _, p := range prefixes {
		rules, err := i.Rules().Get(p)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(rules, func(r rulemap.Rule) bool { return r.Action == rulemap.Allow }) {
			e.notice("note: %s has an allow rule too, which goes first; `headgate unset %s` removes both", p, p)
		}
	}
	return nil
}

// doneWith describes what a verb did to prefixes.
func doneWith(action string, prefixes []netip.Prefix, how string) render.Done {
	done := render.Done{Action: action, Changed: len(prefixes)}
	for _, p := range prefixes {
		done.Prefixes = append(done.Prefixes, p.String())
	}
	past := map[string]string{"block": "blocked", "allow": "allowed", "unset": "unset", "limit": "limited"}[action]
	done.Text = "nothing to change"
	switch {
	case len(prefixes) == 0:
	default:
		done.Text = fmt.Sprintf("%s %s%s", past, someOf(prefixes), how)
	}
	return done
}

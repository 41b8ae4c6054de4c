package main

import (
	"net/netip"
	"slices"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
)

type unsetFlags struct {
	file  string
	force bool
	fleet fleetFlags
}

func newUnsetCmd(e *env, g *global) *cobra.Command {
	f := &unsetFlags{}
	cmd := &cobra.Command{
		Use:   "unset PREFIX... | default | --file FILE",
		Short: "Remove all rules of an address or prefix, or the default limit",
		Long: `Remove what set, block and allow said of exactly these prefixes. Rules of other prefixes that
contain them, or lie in them, stay. A prefix without a rule is no error.

unset default lifts the default limit: packets that nothing else limits are only counted. It does what
set default --rate off --bandwidth off does.

unset --fleet takes back what the fleet's rules say of these prefixes, whoever made them, on all machines
that share the agent's Redis, and lifts what was handed down there. Without it such a rule comes back here, as the fleet has it still.`,
		Example: `  headgate unset 203.0.113.7 198.51.100.0/24
  headgate unset default
  headgate unset 203.0.113.7 --fleet`,
		ValidArgsFunction: e.completeRules(g, policymap.Default),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := g.format(); err != nil {
				return err
			}
			if err := f.fleet.check(cmd); err != nil {
				return err
			}
			if slices.Contains(args, policymap.Default) {
				return e.unsetDefault(g, f, args)
			}
			prefixes, err := e.prefixArgs(args, f.file)
			if err != nil {
				return err
			}
			if f.fleet.on {
				return e.unsetFleet(cmd, g, f, prefixes)
			}
			return e.changing(g, func(i *loader.Instance) error {
				if err := e.guard(f.force).Rules(i, lockout.Unsetting(prefixes)); err != nil {
					return err
				}
				if err := e.noticeFleet(i, prefixes); err != nil {
					return err
				}
				removed, err := i.Rules().Unset(prefixes)
				if err != nil {
					return err
				}
				return e.print(g, doneWith("unset", removed, ""))
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.file, "file", "", "take a list from a file (- for standard input)")
	flags.BoolVar(&f.force, "force", false, "also where it could cut off this SSH session, or a default gateway")
	placeholders(cmd, map[string]string{"file": "FILE"})
	f.fleet.register(cmd, e)
	return cmd
}

// unsetFleet takes back rules of the fleet.
func (e *env) unsetFleet(cmd *cobra.Command, g *global, f *unsetFlags, prefixes []netip.Prefix) error {
	removed, err := f.fleet.unset(cmd, e, g, f.force, prefixes)
	if err != nil {
		return err
	}
	return e.print(g, doneWith("unset", removed, onAll))
}

// noticeFleet tells of prefixes whose rule is the fleet's, and so comes back.
func (e *env) noticeFleet(i *loader.Instance, prefixes []netip.Prefix) error {
	if len(prefixes) > shown {
		return nil // a list; looking at each would cost more than removing it
	}
	for _, p := range prefixes {
		rules, err := i.Rules().Get(p)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(rules, func(r rulemap.Rule) bool { return r.Origin.String() == rulemap.Fleet.String() }) {
			e.notice("note: %s has a rule of the fleet, which comes back within a minute; `headgate unset %s --fleet` takes it back on all machines", p, p)
		}
	}
	return nil
}

// unsetDefault lifts the default limit.
func (e *env) unsetDefault(g *global, f *unsetFlags, args []string) error {
	if f.fleet.on {
		return usagef("the default limit is each machine's own; --fleet is for prefixes")
	}
	if len(args) > 1 || f.file != "" {
		return usagef("unset %s stands alone; unset prefixes by a command of their own", policymap.Default)
	}
	return e.changeDefault(g, defaultFlags{limit: limitFlags{rate: off, bandwidth: off}, force: f.force})
}

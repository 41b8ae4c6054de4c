package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
)

type unsetFlags struct {
	file  string
	force bool
}

func newUnsetCmd(e *env, g *global) *cobra.Command {
	f := &unsetFlags{}
	cmd := &cobra.Command{
		Use:   "unset PREFIX... | default | --file FILE",
		Short: "Remove all rules of an address or prefix, or the default limit",
		Long: `Remove what set, block and allow said of exactly these prefixes. Rules of other prefixes that
contain them, or lie in them, stay. A prefix without a rule is no error.

unset default lifts the default limit: packets that nothing else limits are only counted. It does what
set default --rate off --bandwidth off does.`,
		Example: `  headgate unset 203.0.113.7 198.51.100.0/24
  headgate unset default`,
		ValidArgsFunction: e.completeRules(g, policymap.Default),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := g.format(); err != nil {
				return err
			}
			if slices.Contains(args, policymap.Default) {
				return e.unsetDefault(g, f, args)
			}
			prefixes, err := e.prefixArgs(args, f.file)
			if err != nil {
				return err
			}
			return e.changing(g, func(i *loader.Instance) error {
				if err := e.guard(f.force).Rules(i, lockout.Unsetting(prefixes)); err != nil {
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
	return cmd
}

// unsetDefault lifts the default limit.
func (e *env) unsetDefault(g *global, f *unsetFlags, args []string) error {
	if len(args) > 1 || f.file != "" {
		return usagef("unset %s stands alone; unset prefixes by a command of their own", policymap.Default)
	}
	return e.changeDefault(g, defaultFlags{limit: limitFlags{rate: off, bandwidth: off}, force: f.force})
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/loader"
)

type unsetFlags struct {
	file  string
	force bool
}

func newUnsetCmd(e *env, g *global) *cobra.Command {
	f := &unsetFlags{}
	cmd := &cobra.Command{
		Use:   "unset PREFIX... | --file FILE",
		Short: "Remove all rules of an address or prefix",
		Long: `Remove what set, block and allow said of exactly these prefixes. Rules of other prefixes that
contain them, or lie in them, stay. A prefix without a rule is no error.`,
		Example: `  headgate unset 203.0.113.7 198.51.100.0/24`,
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := g.format(); err != nil {
				return err
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

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// suggestionDistance is how many letters of a command may be wrong for it to be suggested.
const suggestionDistance = 2

// oneOfItsCommands is for a command that has others below it, and was given none of these.
func oneOfItsCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = suggestionDistance
	hint := ""
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		hint = fmt.Sprintf("; perhaps you mean %s", strings.Join(similar, " or "))
	}
	path := cmd.CommandPath()
	return usagef("unknown command %q for %q%s; see `%s --help`", args[0], path, hint, path)
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("%s takes no arguments, and there is %q; use: %s", cmd.Name(), args[0], cmd.UseLine())
}

func atLeastOne(thing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return usagef("name at least one %s; use: %s", thing, cmd.UseLine())
	}
}

func atMostOne(thing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return usagef("name at most one %s, not %d; use: %s", thing, len(args), cmd.UseLine())
	}
}

func exactlyOne(thing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return usagef("name one %s, not %d; use: %s", thing, len(args), cmd.UseLine())
	}
}

// nothingEmpty refuses what was given but is empty: it comes from a variable that is not set, and
// what the default does instead is not what was meant. Only a word that a shell is to complete may be.
func nothingEmpty(cmd *cobra.Command, args []string) error {
	if cmd.Name() == cobra.ShellCompRequestCmd {
		return nil
	}
	if slices.Contains(args, "") {
		return usagef("an argument is empty; use: %s", cmd.UseLine())
	}
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.String() == "" && err == nil {
			err = usagef("--%s is empty; give it a value, or leave it out", f.Name)
		}
	})
	return err
}

package main

import (
	"slices"

	"github.com/spf13/cobra"
)

// flagValue is the value of a flag as cobra has it.
type flagValue interface {
	String() string
	Set(text string) error
	Type() string
}

// namedValue is a flag's value that the help shows by another name than that of its type.
type namedValue struct {
	flagValue
	name string
}

// Type returns the name.
func (v namedValue) Type() string { return v.name }

// placeholders sets what stands for the values of flags in the help: --rate RATE. A default that
// says no more than that nothing was given is not shown.
func placeholders(cmd *cobra.Command, names map[string]string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	for flag, name := range names {
		f := cmd.Flag(flag)
		f.Value = namedValue{f.Value, name}
		if slices.Contains([]string{"0", "0s", "[]"}, f.DefValue) {
			f.DefValue = ""
		}
		cmd.Annotations[flag] = name // for placeholdersAsDefaults
	}
}

// placeholdersAsDefaults prepares a command and those below it for the man pages, which print
// --rate=DEFAULT: that is --rate=RATE then, and the default is said in words.
func placeholdersAsDefaults(cmd *cobra.Command) {
	for flag, name := range cmd.Annotations {
		f := cmd.Flag(flag)
		if f == nil {
			continue // an annotation for something else
		}
		if f.DefValue != "" {
			f.Usage += " (default " + f.DefValue + ")"
		}
		f.DefValue = name
	}
	for _, below := range cmd.Commands() {
		placeholdersAsDefaults(below)
	}
}

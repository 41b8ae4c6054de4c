package main

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
)

// What a shell proposes. Nothing of this may fail aloud: who cannot be asked, or may not, has nothing to propose.

const (
	// completionTime is how long to wait for an agent whose answer somebody waits for with a word half written.
	completionTime = 500 * time.Millisecond
	// maxProposals is how many keys and rules are proposed: more than anybody reads.
	maxProposals = 100

	noFiles = cobra.ShellCompDirectiveNoFileComp
)

// completeFlag has a shell complete the value of a flag.
func completeFlag(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // there is no such flag
	}
}

// oneOf proposes one of a few words.
func oneOf(words ...string) cobra.CompletionFunc { return cobra.FixedCompletions(words, noFiles) }

// listOf proposes words for a list with commas, each once.
func listOf(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := toComplete[:strings.LastIndexByte(toComplete, ',')+1]
		given := strings.Split(before, ",")
		var all []cobra.Completion
		for _, w := range words {
			if !slices.Contains(given, w) {
				all = append(all, before+w)
			}
		}
		return all, noFiles
	}
}

// first proposes what f does, for the first argument only.
func first(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, noFiles
		}
		return f(cmd, args, toComplete)
	}
}

// completeInterfaces proposes the machine's interfaces that are not named yet.
func completeInterfaces(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, noFiles
	}
	var names []cobra.Completion
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback == 0 && !slices.Contains(args, i.Name) {
			names = append(names, i.Name)
		}
	}
	return names, noFiles
}

// completeRules proposes prefixes that have rules, after some words.
func (e *env) completeRules(g *global, words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		all := slices.Clone(words)
		e.look(g, func(i *loader.Instance) {
			rules, err := i.Rules().List()
			if err != nil {
				return
			}
			for _, r := range rules[:min(len(rules), maxProposals)] {
				all = append(all, r.Prefix.String())
			}
		})
		all = slices.DeleteFunc(slices.Compact(all), func(p string) bool { return slices.Contains(args, p) })
		return all, noFiles
	}
}

// completePolicies proposes the policies in force.
func (e *env) completePolicies(g *global) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
		e.look(g, func(i *loader.Instance) {
			config, err := i.Policies().InForce(e.bootTime())
			if err != nil {
				return
			}
			for _, p := range config.Policies {
				all = append(all, p.Name)
			}
		})
		return all, noFiles
	}
}

// look shows do the instance, if there is one that may be looked at.
func (e *env) look(g *global, do func(*loader.Instance)) {
	i, err := loader.OpenToRead(g.options(e))
	if err != nil {
		return
	}
	do(i)
	_ = i.Close() // nothing was written
}

// completeZone proposes the agent's zones as the first argument.
func (f *agentFlags) completeZone(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	c, err := f.client()
	if err != nil || len(args) > 0 {
		return nil, noFiles
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	zones, err := c.Zones(ctx)
	if err != nil {
		return nil, noFiles
	}
	var names []cobra.Completion
	for _, z := range zones {
		names = append(names, cobra.CompletionWithDesc(z.Name, render.ZoneLimit(z)))
	}
	return names, noFiles
}

// completeKey proposes a zone, and then part by part the keys of it that owe most.
func (f *agentFlags) completeKey(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return f.completeZone(cmd, args, toComplete)
	}
	c, err := f.client()
	if err != nil {
		return nil, noFiles
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	keys, err := c.TopKeys(ctx, args[0], maxProposals)
	if err != nil {
		return nil, noFiles
	}
	given := args[1:]
	var parts []cobra.Completion
	for _, k := range keys {
		if n := len(given); n < len(k.Parts) && slices.Equal(k.Parts[:n], given) && !slices.Contains(parts, k.Parts[n]) {
			parts = append(parts, k.Parts[n])
		}
	}
	return parts, noFiles
}

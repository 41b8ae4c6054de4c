package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/admin"
)

// howKeys says how keys are given.
const howKeys = `A key has as many parts as the zone's: for key: [ip, path] an address and a path. An address is cut to
the prefix that the zone counts by.`

// zoneAndKey checks that there is a zone, and a key.
func zoneAndKey(cmd *cobra.Command, args []string) error {
	if len(args) >= 2 {
		return nil
	}
	return usagef("name a zone, and each part of a key of it; use: %s", cmd.UseLine())
}

func newPeekCmd(e *env, g *global) *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use:   "peek ZONE KEY...",
		Short: "Show what a key of a zone may do now, and charge nothing",
		Long: `peek shows the state of a key, for each rule that uses the zone: how many requests would pass now, how
many it is ahead of its rate, when the next one passes, and when it is as one never seen. A key
that was never seen is shown like that too.

` + howKeys,
		Example: `  headgate peek perip 203.0.113.7
  headgate peek perpath 203.0.113.7 /login -o json`,
		Args:              zoneAndKey,
		ValidArgsFunction: f.completeKey,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.ask(g, func(c *admin.Client) error {
				states, err := c.Peek(cmd.Context(), args[0], args[1:])
				if err != nil {
					return err
				}
				return e.print(g, render.KeyStates(states))
			})
		},
	}
	f.register(cmd, e)
	return cmd
}

func newResetCmd(e *env, g *global) *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use:   "reset ZONE KEY...",
		Short: "Forget what a key of a zone owes",
		Long: `reset makes a key as one never seen: it has its whole burst again. Requests under way go on.

` + howKeys,
		Example: `  headgate reset perip 203.0.113.7
  headgate reset perpath 203.0.113.7 /login`,
		Args:              zoneAndKey,
		ValidArgsFunction: f.completeKey,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.ask(g, func(c *admin.Client) error {
				known, err := c.Reset(cmd.Context(), args[0], args[1:])
				if err != nil {
					return err
				}
				done := render.Done{Action: "reset", Zone: args[0], Key: args[1:], Text: "nothing to change: the key owes nothing"}
				if known {
					done.Changed, done.Text = 1, fmt.Sprintf("reset %s in zone %s", strings.Join(args[1:], ", "), args[0])
				}
				return e.print(g, done)
			})
		},
	}
	f.register(cmd, e)
	return cmd
}

func newKeysCmd(e *env, g *global) *cobra.Command {
	f, limit := &agentFlags{}, 0
	cmd := &cobra.Command{
		Use:   "keys ZONE",
		Short: "Show the keys of a zone that owe most",
		Long: `keys shows the keys of a zone that are furthest ahead of their rate, or of a zone that counts requests
at a time, those with most requests under way.`,
		Example: `  headgate keys perip
  headgate keys perip -n 5 -o json`,
		Args:              exactlyOne("zone"),
		ValidArgsFunction: f.completeZone,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkShown(limit); err != nil {
				return err
			}
			return f.ask(g, func(c *admin.Client) error {
				keys, err := c.TopKeys(cmd.Context(), args[0], limit)
				if err != nil {
					return err
				}
				return e.print(g, render.KeyStates(keys))
			})
		},
	}
	f.register(cmd, e)
	shownFlag(cmd, &limit, "keys")
	return cmd
}

// maxShown is how many entries the agent lists.
const maxShown = 1000

// shownFlag adds the flag that says how many things a list has.
func shownFlag(cmd *cobra.Command, limit *int, things string) {
	cmd.Flags().IntVarP(limit, "limit", "n", defaultTopLimit, "show so many "+things)
	placeholders(cmd, map[string]string{"limit": "NUMBER"})
}

func checkShown(limit int) error {
	if limit < 1 || limit > maxShown {
		return usagef("limit %d: use 1 to %d", limit, maxShown)
	}
	return nil
}

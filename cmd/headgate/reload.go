package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/admin"
)

func newReloadCmd(e *env, g *global) *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Have the agent read its configuration again",
		Long: `reload has the running agent read its file again, and waits until the whole new one is in force, or
none of it: then it says what is wrong with it. What keys and sources owe stays, and so do counters,
and rules that were not in the file. Rates that were changed by zone set are as in the file.`,
		Example: `  headgate reload`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.ask(g, func(c *admin.Client) error {
				config, err := c.Reload(cmd.Context())
				if _, refused := errors.AsType[*admin.Problem](err); refused {
					return fmt.Errorf("nothing was changed: %w", err)
				}
				if err != nil {
					return err
				}
				return e.print(g, render.Done{Action: "reload", Changed: 1, Text: "read " + config.File})
			})
		},
	}
	f.register(cmd, e)
	return cmd
}

func newDrainCmd(e *env, g *global) *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "End the agent when the requests under way have ended",
		Long: `drain has the running agent take no new connections and end when the requests under way have, as the
first SIGTERM does. It does not wait for that. The kernel's limiter stays in force: detach ends it.`,
		Example: `  headgate drain`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.ask(g, func(c *admin.Client) error {
				if err := c.Drain(cmd.Context()); err != nil {
					return err
				}
				return e.print(g, render.Done{Action: "drain", Changed: 1, Text: "the agent ends when the requests under way have"})
			})
		},
	}
	f.register(cmd, e)
	return cmd
}

package main

import (
	"context"
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
				if err := e.warn(cmd.Context(), c, config); err != nil {
					return err
				}
				return e.print(g, render.Done{Action: "reload", Changed: 1, Text: "read " + config.File})
			})
		},
	}
	f.register(cmd, e)
	return cmd
}

// warn tells what is doubtful in a file that is in force, and which of its interfaces are not limited.
func (e *env) warn(ctx context.Context, c *admin.Client, config admin.ConfigStatus) error {
	for _, w := range config.Warnings {
		e.notice("warning: %s", w)
	}
	s, err := c.Status(ctx)
	if err != nil {
		return err
	}
	for _, i := range s.Interfaces {
		switch i.State {
		case admin.Missing:
			e.notice("warning: there is no interface %s; it is attached to when it comes", i.Name)
		case admin.Failed:
			e.notice("warning: %s is not attached to: %s", i.Name, i.Error)
		}
	}
	return nil
}

func newDrainCmd(e *env, g *global) *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "End the agent when the requests under way have ended",
		Long: `drain has the running agent take no new connections and end when the requests under way have, as the
first SIGTERM does. It does not wait for that. The kernel's limiter stays in force: detach ends it.

Under systemd the agent is not started again, as by systemctl stop. With headgate.socket the next connection starts it:
stop that too (systemctl stop headgate.socket headgate).`,
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

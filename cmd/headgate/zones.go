package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/admin"
)

func newZonesCmd(e *env, g *global) *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use:   "zones",
		Short: "List the agent's zones of HTTP requests, their limits and what they did",
		Long: `zones lists the zones of the running agent in the order of its file, with the limits in force: a rate
that zone set or the adaptive section has changed is shown as it is now. DRY RUN is what rules with
dry_run would have delayed or refused.`,
		Example: `  headgate zones
  headgate zones -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.ask(g, func(c *admin.Client) error {
				zones, err := c.Zones(cmd.Context())
				if err != nil {
					return err
				}
				return e.print(g, render.Zones(zones))
			})
		},
	}
	f.register(cmd, e)
	return cmd
}

func newZoneCmd(e *env, g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "zone COMMAND",
		Short:   "Change a zone of HTTP requests while the agent runs",
		Example: `  headgate zone set perip --rate 20r/s`,
		Args:    oneOfItsCommands,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newZoneSetCmd(e, g))
	return cmd
}

func newZoneSetCmd(e *env, g *global) *cobra.Command {
	f, setting := &agentFlags{}, admin.ZoneSetting{}
	cmd := &cobra.Command{
		Use:   "set ZONE {--rate RATE | --concurrent NUMBER}",
		Short: "Change a zone's rate, or how many requests it lets through at a time",
		Long: `Give a zone of the running agent another limit, from the next request on. Keys, overrides and rules
stay, and what a key owes is cut to what the new limit lets it. Bursts stay too: they are of the rules
that use the zone, and change with the file.

It holds until the configuration is read again, at the latest until the agent ends: write it into
the file to keep it.`,
		Example: `  headgate zone set perip --rate 20r/s
  headgate zone set downloads --concurrent 4`,
		Args:              exactlyOne("zone"),
		ValidArgsFunction: f.completeZone,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (setting.Rate == "") != cmd.Flags().Changed("concurrent") {
				return usagef("set what? give one of --rate and --concurrent")
			}
			if cmd.Flags().Changed("concurrent") && setting.Concurrent == 0 {
				return usagef("--concurrent 0 would let nothing pass; use 1 or more")
			}
			return f.ask(g, func(c *admin.Client) error { return e.setZone(cmd, g, c, args[0], setting) })
		},
	}
	f.register(cmd, e)
	flags := cmd.Flags()
	flags.StringVar(&setting.Rate, "rate", "", "requests: 10r/s, 30r/m or 100r/h")
	flags.Uint64Var(&setting.Concurrent, "concurrent", 0, "requests at a time")
	placeholders(cmd, map[string]string{"rate": "RATE", "concurrent": "NUMBER"})
	return cmd
}

func (e *env) setZone(cmd *cobra.Command, g *global, c *admin.Client, name string, s admin.ZoneSetting) error {
	before, err := c.Zone(cmd.Context(), name)
	if err != nil {
		return err
	}
	after, err := c.SetZone(cmd.Context(), name, s)
	if err != nil {
		return err
	}
	done := render.Done{Action: "zone set", Zone: name, Text: "nothing to change"}
	if before.Rate != after.Rate || before.Concurrent != after.Concurrent {
		limit := strings.TrimSuffix(render.ZoneLimit(after), " *")
		done.Changed, done.Text = 1, fmt.Sprintf("zone %s: %s until the next reload", name, limit)
	}
	return e.print(g, done)
}

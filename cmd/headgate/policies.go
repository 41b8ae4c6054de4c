package main

import (
	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/ipproto"
)

func newPoliciesCmd(e *env, g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "policies",
		Short: "List the policies",
		Long: `policies lists the policies in the order in which they are asked, those in dry run last. A
packet must pass all that match it.`,
		Example: `  headgate policies
  headgate policies -o json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			return e.reading(g, func(i *loader.Instance) error {
				config, err := i.Policies().InForce(e.bootTime())
				if err != nil {
					return err
				}
				return e.print(g, policiesView(config))
			})
		},
	}
}

func policiesView(config policymap.Config) render.Policies {
	policies := make(render.Policies, 0, len(config.Policies))
	for _, p := range config.Policies {
		action := "drop"
		if p.DryRun || config.DryRun {
			action = "dry-run"
		}
		policies = append(policies, render.Policy{
			Name:   p.Name,
			Match:  matchView(p),
			Key:    p.Key.String(),
			Limit:  limitView(p.Limit),
			Action: action,
			ID:     p.ID(),

			Overflow: p.Overflow.String(),
		})
	}
	return policies
}

func matchView(p policymap.Policy) render.Match {
	match := render.Match{SYN: p.SYN, Unverified: p.Unverified}
	if p.HasProto {
		match.Protocol = ipproto.Name(p.Proto)
	}
	match.Ports = p.Ports.String()
	return match
}

func limitView(l wire.Limit) render.Limit {
	var view render.Limit
	if !l.Packets.Rate.IsZero() {
		view.Rate, view.Burst = l.Packets.Rate.String(), l.Packets.Burst
	}
	if !l.Bytes.Rate.IsZero() {
		view.Bandwidth, view.BandwidthBurst = l.Bytes.Rate.String(), l.Bytes.Burst
	}
	return view
}

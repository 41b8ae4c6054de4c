package main

import (
	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/statmap"
)

func newStatsCmd(e *env, g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Show what has passed and what was dropped, and why",
		Long: `stats shows the counters since the instance was started. Every packet is counted under exactly
one reason. What dry run would have dropped is part of what passed. Bytes are those of IP
packets, without the Ethernet header.`,
		Example: `  headgate stats
  headgate stats -o json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			return e.reading(g, func(i *loader.Instance) error {
				view, err := readStats(i, e.bootTime())
				if err != nil {
					return err
				}
				return e.print(g, view)
			})
		},
	}
}

func readStats(i *loader.Instance, now uint64) (render.Stats, error) {
	config, err := i.Policies().InForce(now)
	if err != nil {
		return render.Stats{}, err
	}
	stats, err := i.Stats()
	if err != nil {
		return render.Stats{}, err
	}
	attachments, err := i.Attachments()
	if err != nil {
		return render.Stats{}, err
	}
	buckets := i.Buckets()
	tracked, err := buckets.Count()
	if err != nil {
		return render.Stats{}, err
	}
	view := statsView(&stats, &config)
	if view.VerifiedSources, err = i.Verified().Count(now); err != nil {
		return render.Stats{}, err
	}
	view.Interfaces = interfacesView(attachments)
	view.TrackedSources, view.Capacity = tracked, buckets.Capacity()
	return view, nil
}

func statsView(stats *statmap.Stats, config *policymap.Config) render.Stats {
	view := render.Stats{
		Pass:             stats.Pass(),
		Drop:             stats.Drop(),
		WouldDrop:        stats.WouldDrop(),
		Reasons:          render.ReasonCounts{},
		Policies:         []render.PolicyStats{},
		SuppressedEvents: stats.Suppressed,
		DryRun:           config.DryRun,
		Heat: render.HeatCounts{
			ColdPackets: stats.Cold,
			Inserts:     stats.Inserts,
			Deferred:    stats.Deferred,
		},
	}
	for _, r := range statmap.Reasons() {
		view.Reasons[statmap.ReasonName(r)] = stats.Reason(r).Packets
	}
	for _, p := range config.Policies {
		counted := stats.Policy(p.Slot(), p.Baseline())
		view.Policies = append(view.Policies, render.PolicyStats{
			Name:      p.Name,
			Pass:      counted.Pass,
			Drop:      counted.Drop,
			WouldDrop: counted.WouldDrop,
		})
	}
	return view
}

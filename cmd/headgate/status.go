package main

import (
	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
)

func newStatusCmd(e *env, g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what is attached where, the settings, and the memory used",
		Long: `status shows the settings in force, a trial that is not confirmed yet, the interfaces with the mode
obtained, and what the kernel charges for each map; and up to which rate of new sources, as of a flood from made-up
addresses, those of each policy have room in the heat table. An interface that was deleted is gone; one without
a name is in another network namespace. It says so where the running program is not the one of this
headgate: attach upgrades it.`,
		Example: `  headgate status
  headgate status -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.reading(g, func(i *loader.Instance) error {
				view, err := readStatus(i, e.clock())
				if err != nil {
					return err
				}
				view.Pin = g.pin
				view.Agent = e.runningAgent(cmd.Context())
				return e.print(g, view)
			})
		},
	}
}

func readStatus(i *loader.Instance, now clock) (render.Status, error) {
	config, err := i.Policies().InForce(now.boot)
	if err != nil {
		return render.Status{}, err
	}
	view := settingsView(config, now)
	if view.Outdated, err = i.Outdated(); err != nil {
		return render.Status{}, err
	}
	attachments, err := i.Attachments()
	if err != nil {
		return render.Status{}, err
	}
	view.Interfaces = interfacesView(attachments)
	memory, err := i.Memory()
	if err != nil {
		return render.Status{}, err
	}
	view.Memory = memoryView(memory)
	view.Heat = heatView(i.Heat(), config.Policies)
	return view, countEntries(i, now.boot, &view)
}

// countEntries fills in how much of what can grow there is.
func countEntries(i *loader.Instance, now uint64, view *render.Status) error {
	rules, err := i.Rules().List()
	if err != nil {
		return err
	}
	view.Rules = len(rules)
	buckets := i.Buckets()
	view.Capacity = buckets.Capacity()
	if view.TrackedSources, err = buckets.Count(); err != nil {
		return err
	}
	view.VerifiedSources, err = i.Verified().Count(now)
	return err
}

// settingsView is what can be said from the configuration in force, and of this headgate.
func settingsView(config policymap.Config, now clock) render.Status {
	version := versionView()
	view := render.Status{
		Version:    version.Version,
		Build:      version.Build,
		Kernel:     version.Kernel,
		DryRun:     config.DryRun,
		IPv4Prefix: config.IPv4Prefix,
		IPv6Prefix: config.IPv6Prefix,
		Overflow:   overflow(config),
		Policies:   len(config.Policies),
	}
	if config.ValidUntil != policymap.Forever {
		until, seconds := now.expiry(config.ValidUntil)
		view.Try = &render.Try{Until: until, Seconds: seconds}
	}
	return view
}

// overflow returns the overflow of the default policy, which is estimate before there is one.
func overflow(config policymap.Config) string {
	policy, _ := config.Policy(policymap.Default)
	return policy.Overflow.String()
}

func interfacesView(attachments []loader.Attachment) []render.Interface {
	interfaces := make([]render.Interface, 0, len(attachments))
	for _, a := range attachments {
		interfaces = append(interfaces, interfaceView(a))
	}
	return interfaces
}

func interfaceView(a loader.Attachment) render.Interface {
	mode := a.Mode.String()
	if a.Mode == loader.Auto {
		mode = "unknown"
	}
	return render.Interface{
		Name:      a.Name,
		Index:     a.Index,
		Mode:      mode,
		Frags:     a.Frags,
		ProgramID: a.ProgramID,
		Up:        a.Up,
		Gone:      a.Gone,
	}
}

func memoryView(maps []loader.MapMemory) render.Memory {
	view := render.Memory{Maps: make([]render.MapMemory, 0, len(maps))}
	for _, m := range maps {
		view.Bytes += m.Bytes
		view.Maps = append(view.Maps, render.MapMemory(m))
	}
	return view
}

package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/change"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
)

// attaching is one attach on its way.
type attaching struct {
	*env
	*change.Change
	g     *global
	flags *attachFlags
	given func(flag string) bool
	trial trial // 0 for none
}

func (e *env) attach(cmd *cobra.Command, g *global, f *attachFlags, names []string) error {
	if _, err := g.format(); err != nil {
		return err
	}
	if err := f.validate(cmd); err != nil {
		return err
	}
	indices, err := loader.CheckInterfaces(names)
	if err != nil {
		return err
	}
	a := &attaching{env: e, g: g, flags: f, given: cmd.Flags().Changed}
	options, err := a.options()
	if err != nil {
		return err
	}
	if a.Change, err = change.Open(options, e.settle); err != nil {
		return err
	}
	// From here on there is something to go back from, and Ctrl-C ends a trial.
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	view, err := a.run(names, indices)
	if err != nil {
		return errors.Join(err, a.GoBack(), a.Instance.Close())
	}
	if err := errors.Join(a.Instance.Close(), e.print(g, view)); err != nil || a.trial == 0 {
		return err
	}
	return e.awaitConfirmation(ctx, g, a.trial)
}

func (a *attaching) options() (options loader.Options, err error) {
	options = a.g.options(a.env)
	options.MaxSources, options.MaxRules = a.flags.maxSources, a.flags.maxRules
	options.IPv6Prefix = a.flags.ipv6Prefix
	options.HeatMemory, err = a.flags.newHeatMemory()
	return options, err
}

// run does what attach promises. The caller goes back where it returns an error.
func (a *attaching) run(names []string, indices []int) (view render.Attached, err error) {
	// All that may be refused is found before anything is changed.
	config, err := a.configure(indices)
	if err != nil {
		return view, err
	}
	if err := a.Instance.CheckFree(names); err != nil {
		return view, err
	}
	if a.flags.try > 0 {
		if err := a.setTrial(&config, indices); err != nil {
			return view, err
		}
	}
	if err := a.upgrade(); err != nil {
		return view, err
	}
	// The limits come first, so that no packet goes through an interface without them.
	if err := a.Store(config); err != nil {
		return view, err
	}
	if view.Interfaces, err = a.attachAll(names); err != nil {
		return view, err
	}
	policy, _ := config.Policy(policymap.Default)
	view.Limit, view.DryRun = policy.Limit.String(), config.DryRun
	view.Enforced = a.given("dry-run") && !config.DryRun
	if a.trial == 0 {
		return view, nil
	}
	return view, a.watch(a.g, a.trial)
}

// setTrial puts into the configuration when it ends, and which interfaces are new.
func (a *attaching) setTrial(config *policymap.Config, indices []int) error {
	attached, err := a.Instance.Attachments()
	if err != nil {
		return err
	}
	for _, index := range indices {
		known := func(at loader.Attachment) bool { return at.Index == index && !at.Gone }
		if !slices.ContainsFunc(attached, known) {
			config.TrialInterfaces = append(config.TrialInterfaces, index)
		}
	}
	if n := len(config.TrialInterfaces); n > policymap.MaxTrialInterfaces {
		return usagef("%d interfaces are too many for one --try; name at most %d", n, policymap.MaxTrialInterfaces)
	}
	a.trial = trial(a.bootTime() + uint64(a.flags.try))
	config.ValidUntil = uint64(a.trial)
	return nil
}

func (a *attaching) attachAll(names []string) ([]render.AttachedInterface, error) {
	var all []render.AttachedInterface
	mode, err := loader.ParseMode(a.flags.mode)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		attached, already, err := a.Attach(name, mode)
		if err != nil {
			return nil, err
		}
		a.noticeAttachment(attached, mode, already)
		all = append(all, render.AttachedInterface{Interface: interfaceView(attached), Already: already})
	}
	return all, nil
}

func (a *attaching) upgrade() error {
	upgraded, err := a.Upgrade()
	if err == nil && upgraded {
		a.notice("note: upgraded the running program to this version; rules, buckets and counters stay")
	}
	return err
}

// configure returns the configuration that the flags ask for.
func (a *attaching) configure(indices []int) (policymap.Config, error) {
	config, err := a.Instance.Policies().Load()
	if err != nil {
		return config, err
	}
	if config.ValidUntil != policymap.Forever {
		return config, a.onTrial(config)
	}
	a.Before = config
	f := a.flags
	if err := a.setSources(&config); err != nil {
		return config, err
	}
	if a.given("dry-run") {
		config.DryRun = f.dryRun
	}
	if !a.Created && (a.given("max-sources") || a.given("max-rules") || a.given("heat-memory")) {
		a.notice("note: the instance exists and keeps its size; --max-sources, --max-rules and --heat-memory are for a new one")
	}
	if err := a.applyDefault(a.Instance, &config, defaultFlags{f.limit, f.overflow, f.force}, indices); err != nil {
		return config, err
	}
	if a.Created && !a.given("heat-memory") {
		a.noticeHeat(a.Instance, config.Policies)
	}
	if policy, _ := config.Policy(policymap.Default); policy.Limit.IsZero() {
		a.notice("note: no source is limited yet, packets are only counted; `headgate set default --rate 10kpps` limits them")
	}
	return config, nil
}

// onTrial says what there is to do about a trial that is not over.
func (e *env) onTrial(config policymap.Config) error {
	return fmt.Errorf("the last attach is on trial for another %s; in its terminal, Enter keeps it and "+
		"Ctrl-C goes back; or wait until it has gone back", e.left(trial(config.ValidUntil)))
}

// setSources puts into the configuration how many bits make a source.
func (a *attaching) setSources(config *policymap.Config) error {
	f := a.flags
	if a.given("ipv4-prefix") {
		config.IPv4Prefix = f.ipv4Prefix
	}
	if a.given("ipv6-prefix") {
		if most := a.Instance.Buckets().MaxIPv6Prefix(); f.ipv6Prefix > most {
			return usagef("--ipv6-prefix %d: this instance was made for at most %d bits; "+
				"detach it and attach again to tell longer ones apart", f.ipv6Prefix, most)
		}
		config.IPv6Prefix = f.ipv6Prefix
	}
	if config.IPv4Prefix >= a.Before.IPv4Prefix && config.IPv6Prefix >= a.Before.IPv6Prefix {
		return nil
	}
	rules, err := a.Instance.Rules().List()
	if err != nil {
		return err
	}
	err = change.CheckSources(config, rules)
	if part, ok := errors.AsType[policymap.PartError](err); ok {
		return usagef("--ipv%d-prefix %d: %s has a limit of its own and would be a part of a source; use %d or more, "+
			"or `headgate unset %s` first", part.Family(), part.Bits, part.Prefix, part.Prefix.Bits(), part.Prefix)
	}
	return err
}

// noticeAttachment says aloud what the user might not expect.
func (e *env) noticeAttachment(a loader.Attachment, asked loader.Mode, already bool) {
	if a.Mode == loader.Generic && asked == loader.Auto && !already {
		e.notice("note: %s is attached in generic mode, as native mode cannot be had there: it works, but costs more per packet", a.Name)
	}
	if a.Mode == loader.Generic {
		e.notice("note: in generic mode the kernel may have merged packets (GRO) before they are counted; "+
			"`ethtool -K %s gro off lro off` makes it count each", a.Name)
	}
	if !a.Up {
		e.notice("note: %s is down; the limit holds as soon as it comes up", a.Name)
	}
}

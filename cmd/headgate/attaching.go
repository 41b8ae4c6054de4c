package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
)

// attaching is one attach on its way: what it has changed so far, so that it can go back.
type attaching struct {
	*env
	g        *global
	flags    *attachFlags
	given    func(flag string) bool
	instance *loader.Instance
	created  bool
	before   policymap.Config
	stored   bool                // another one than before
	attached []loader.Attachment // by this command
	trial    trial               // 0 for none
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
	if err := a.open(); err != nil {
		return err
	}
	// From here on there is something to go back from, and Ctrl-C ends a trial.
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	view, err := a.run(names, indices)
	if err != nil {
		return errors.Join(err, a.goBack(), a.instance.Close())
	}
	if err := errors.Join(a.instance.Close(), e.print(g, view)); err != nil || a.trial == 0 {
		return err
	}
	return e.awaitConfirmation(ctx, g, a.trial)
}

// open opens or makes the instance. What is left of a trial that ended is no instance any more.
func (a *attaching) open() error {
	options := a.g.options(a.env)
	options.MaxSources, options.MaxRules = a.flags.maxSources, a.flags.maxRules
	options.IPv6Prefix = a.flags.ipv6Prefix
	for {
		i, created, err := loader.Create(options)
		if err != nil {
			return err
		}
		err = a.settle(i)
		if err == nil {
			a.instance, a.created = i, created
			return nil
		}
		if err := i.Close(); err != nil {
			return err
		}
		if !errors.Is(err, loader.ErrNotLoaded) {
			return err
		}
	}
}

// run does what attach promises. The caller goes back where it returns an error.
func (a *attaching) run(names []string, indices []int) (view render.Attached, err error) {
	// All that may be refused is found before anything is changed.
	config, err := a.configure(indices)
	if err != nil {
		return view, err
	}
	if err := a.instance.CheckFree(names); err != nil {
		return view, err
	}
	if a.flags.try > 0 {
		if err := a.setTrialInterfaces(&config, indices); err != nil {
			return view, err
		}
	}
	if err := a.upgrade(); err != nil {
		return view, err
	}
	// The limits come first, so that no packet goes through an interface without them.
	if err := a.store(config); err != nil {
		return view, err
	}
	if view.Interfaces, err = a.attachAll(names); err != nil {
		return view, err
	}
	policy, _ := config.Policy(policymap.Default)
	view.Limit, view.DryRun = describe(policy.Limit), config.DryRun
	view.Enforced = a.given("dry-run") && !config.DryRun
	if a.trial == 0 {
		return view, nil
	}
	return view, a.watch(a.g, a.trial)
}

// setTrialInterfaces puts into the configuration which interfaces are new.
func (a *attaching) setTrialInterfaces(config *policymap.Config, indices []int) error {
	attached, err := a.instance.Attachments()
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
	return nil
}

func (a *attaching) attachAll(names []string) ([]render.AttachedInterface, error) {
	var all []render.AttachedInterface
	mode, err := loader.ParseMode(a.flags.mode)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		attached, already, err := a.instance.Attach(name, mode)
		if err != nil {
			return nil, err
		}
		if !already {
			a.attached = append(a.attached, attached)
		}
		a.noticeAttachment(attached, mode, already)
		all = append(all, render.AttachedInterface{Interface: interfaceView(attached), Already: already})
	}
	return all, nil
}

// upgrade replaces the program of an instance that another build of headgate made.
func (a *attaching) upgrade() error {
	outdated, err := a.instance.Outdated()
	if err != nil || !outdated {
		return err
	}
	if err := a.instance.Upgrade(); err != nil {
		return err
	}
	a.notice("note: upgraded the running program to this version; rules, buckets and counters stay")
	return nil
}

// configure returns the configuration that the flags ask for.
func (a *attaching) configure(indices []int) (policymap.Config, error) {
	config, err := a.instance.Policies().Load()
	if err != nil {
		return config, err
	}
	if config.ValidUntil != policymap.Forever {
		return config, a.onTrial(config)
	}
	a.before = config
	f := a.flags
	if err := a.setSources(&config); err != nil {
		return config, err
	}
	if a.given("dry-run") {
		config.DryRun = f.dryRun
	}
	if a.given("overflow") {
		if config.Overflow, err = policymap.ParseOverflow(f.overflow); err != nil {
			return config, err
		}
	}
	if !a.created && (a.given("max-sources") || a.given("max-rules")) {
		a.notice("note: the instance exists and keeps its size; --max-sources and --max-rules are for a new one")
	}
	if err := a.applyDefault(a.instance, &config, &f.limit, indices, f.force); err != nil {
		return config, err
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
		if most := a.instance.Buckets().MaxIPv6Prefix(); f.ipv6Prefix > most {
			return usagef("--ipv6-prefix %d: this instance was made for at most %d bits; "+
				"detach it and attach again to tell longer ones apart", f.ipv6Prefix, most)
		}
		config.IPv6Prefix = f.ipv6Prefix
	}
	if config.IPv4Prefix >= a.before.IPv4Prefix && config.IPv6Prefix >= a.before.IPv6Prefix {
		return nil
	}
	return checkSources(a.instance, config)
}

// store puts the configuration in force, for good or on trial. When a trial ends, what was before
// takes over; where there was nothing, everything passes then.
func (a *attaching) store(config policymap.Config) error {
	a.stored = true
	if a.flags.try > 0 {
		a.trial = trial(a.bootTime() + uint64(a.flags.try))
		config.ValidUntil = uint64(a.trial)
	}
	policies := a.instance.Policies()
	if err := policies.DropFallback(); err != nil {
		return err
	}
	if a.flags.try > 0 && !a.created {
		if err := policies.StoreFallback(a.before); err != nil {
			return err
		}
	}
	return policies.Store(config)
}

// goBack undoes what was done before an error.
func (a *attaching) goBack() error {
	if a.created {
		return a.instance.RemoveAll()
	}
	var errs []error
	for _, attached := range a.attached {
		errs = append(errs, a.instance.Detach(attached.Index))
	}
	if a.stored {
		errs = append(errs, a.instance.Policies().Store(a.before))
	}
	return errors.Join(errs...)
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

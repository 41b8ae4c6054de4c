package main

import (
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
)

type attachFlags struct {
	limit                  limitFlags
	mode, overflow         string
	ipv4Prefix, ipv6Prefix int
	maxSources, maxRules   uint32
	dryRun, force          bool
	try                    time.Duration
}

func newAttachCmd(e *env, g *global) *cobra.Command {
	f := &attachFlags{}
	cmd := &cobra.Command{
		Use:   "attach IFACE...",
		Short: "Attach to interfaces, and set the default limit",
		Long: `Load the limiter where it is not loaded yet, attach it to these interfaces and set the limit
that every source has by default. It stays when the command ends. What no flag names stays as it is
where the instance exists, but a new rate without a burst brings its default burst. Where another
build of headgate made the instance, its program is replaced by that of this one, without a gap.

Without --rate and --bandwidth packets are counted per source and nothing is limited.

With --try everything goes back to how it was unless you press Enter in time: also where you have
cut off your own terminal, and even where every headgate process is killed, as the kernel itself
keeps the time.`,
		Example: `  headgate attach eth0 --rate 10kpps --burst 20k
  headgate attach eth0 eth1 --rate 10kpps --bandwidth 100Mbit/s
  headgate attach eth0 --rate 1kpps --try 60s
  headgate attach eth0 --rate 1kpps --dry-run`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.attach(cmd, g, f, args)
		},
	}
	f.limit.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.mode, "mode", "auto", "`mode`: native (in the driver), generic (any driver, slower), or auto")
	flags.StringVar(&f.overflow, "overflow", "pass", "packets of sources that the table has no room for: pass, drop, or shared (one bucket for all of them)")
	flags.IntVar(&f.ipv4Prefix, "ipv4-prefix", 32, "`bits` of an IPv4 address that make a source")
	flags.IntVar(&f.ipv6Prefix, "ipv6-prefix", 64, "`bits` of an IPv6 address that make a source")
	flags.Uint32Var(&f.maxSources, "max-sources", loader.DefaultMaxSources, "sources that a new instance keeps at once")
	flags.Uint32Var(&f.maxRules, "max-rules", loader.DefaultMaxRules, "prefixes of each family that a new instance has room for")
	flags.BoolVar(&f.dryRun, "dry-run", false, "count what would be dropped, and drop nothing")
	flags.BoolVar(&f.force, "force", false, "also where it could cut off this SSH session")
	flags.DurationVar(&f.try, "try", 0, "go back after this `duration` unless confirmed")
	return cmd
}

// validate finds what is wrong with the flags before anything is done.
func (f *attachFlags) validate(cmd *cobra.Command) error {
	if _, err := loader.ParseMode(f.mode); err != nil {
		return usagef("--%w", err)
	}
	if _, err := policymap.ParseOverflow(f.overflow); err != nil {
		return usagef("--%w", err)
	}
	if f.ipv4Prefix < 0 || f.ipv4Prefix > 32 {
		return usagef("--ipv4-prefix %d: an IPv4 address has 32 bits, so use 0 to 32; "+
			"--ipv6-prefix is the one for IPv6", f.ipv4Prefix)
	}
	if f.ipv6Prefix < 0 || f.ipv6Prefix > 128 {
		return usagef("--ipv6-prefix %d: an IPv6 address has 128 bits, so use 0 to 128", f.ipv6Prefix)
	}
	if f.maxSources == 0 || f.maxRules == 0 {
		return usagef("--max-sources and --max-rules must be above 0")
	}
	if cmd.Flags().Changed("try") && f.try < time.Second {
		return usagef("--try %s: use a duration of at least 1s, as 60s", f.try)
	}
	return f.limit.check()
}

var errOnTrial = errors.New("the last attach is on trial; confirm it, or wait until it has gone back")

// attaching is one attach on its way: what it has changed so far, so that it can go back.
type attaching struct {
	*env
	g        *global
	flags    *attachFlags
	given    func(flag string) bool
	instance *loader.Instance
	created  bool
	before   *policymap.Config   // nil until it is known
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
	view, err := a.run(names, indices)
	if err != nil {
		return errors.Join(err, a.goBack(), a.instance.Close())
	}
	if err := errors.Join(a.instance.Close(), e.print(g, view)); err != nil || a.trial == 0 {
		return err
	}
	return e.awaitConfirmation(cmd.Context(), g, a.trial)
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
		if err := errors.Join(i.Close()); err != nil {
			return err
		}
		if !errors.Is(err, loader.ErrNotLoaded) {
			return err
		}
	}
}

// run does what attach promises. The caller goes back where it returns an error.
func (a *attaching) run(names []string, indices []int) (view render.Attached, err error) {
	if err := a.upgrade(); err != nil {
		return view, err
	}
	config, err := a.configure(indices)
	if err != nil {
		return view, err
	}
	if a.flags.try > 0 {
		if err := a.setTrial(&config, indices); err != nil {
			return view, err
		}
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
	if a.trial == 0 {
		return view, nil
	}
	return view, a.watch(a.g, a.trial)
}

// setTrial puts into the configuration when it ends, and which interfaces are new.
func (a *attaching) setTrial(config *policymap.Config, indices []int) error {
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
		return config, errOnTrial
	}
	before := config
	a.before = &before
	f := a.flags
	if a.given("ipv4-prefix") {
		config.IPv4Prefix = f.ipv4Prefix
	}
	if a.given("ipv6-prefix") {
		if most := a.instance.Buckets().MaxIPv6Prefix(); f.ipv6Prefix > most {
			return config, usagef("--ipv6-prefix %d: this instance was made for at most %d bits; "+
				"detach it and attach again to tell longer ones apart", f.ipv6Prefix, most)
		}
		config.IPv6Prefix = f.ipv6Prefix
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

// store puts the configuration in force. When a trial ends, what was before takes over; where there
// was nothing, everything passes then.
func (a *attaching) store(config policymap.Config) error {
	policies := a.instance.Policies()
	if err := policies.DropFallback(); err != nil {
		return err
	}
	if a.flags.try > 0 && !a.created {
		if err := policies.StoreFallback(*a.before); err != nil {
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
	if a.before != nil {
		errs = append(errs, a.instance.Policies().Store(*a.before))
	}
	return errors.Join(errs...)
}

// noticeAttachment says aloud what the user might not expect.
func (e *env) noticeAttachment(a loader.Attachment, asked loader.Mode, already bool) {
	if a.Mode == loader.Generic && asked == loader.Auto && !already {
		e.notice("note: %s is attached in generic mode, as its driver has no native XDP: it works, but costs more per packet", a.Name)
	}
	if a.Mode == loader.Generic {
		e.notice("note: in generic mode the kernel may have merged packets (GRO) before they are counted; "+
			"`ethtool -K %s gro off lro off` makes it count each", a.Name)
	}
	if !a.Up {
		e.notice("note: %s is down; the limit holds as soon as it comes up", a.Name)
	}
}

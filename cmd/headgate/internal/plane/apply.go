package plane

import (
	"cmp"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/change"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/userspace/config"
)

// manyRules is from how many on writing them is worth a line in the log, and every further so many too.
const manyRules = 100_000

// Check returns what Apply would refuse. Without privilege, or where there is no instance yet, that is what can be found
// without one.
func (p *Plane) Check(k config.Kernel) error {
	want, err := p.planOf(k, p.factor())
	if err != nil {
		return err
	}
	err = p.reading(func(i *loader.Instance) error {
		_, err := p.prepare(i, want)
		return err
	})
	if errors.Is(err, loader.ErrNotLoaded) || errors.Is(err, loader.ErrPrivilege) {
		return p.prepareNew(want)
	}
	return err
}

// Apply makes the limiter what k says, or changes nothing but the version of the program. Its lists are read before the
// instance is locked; while many rules are written nobody else can change it.
func (p *Plane) Apply(k config.Kernel) error {
	begin := time.Now()
	want, err := p.planOf(k, p.factor())
	if err != nil {
		return err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	defer p.rules.forget()
	c, err := change.Open(p.sized(want), p.settle)
	if err != nil {
		return err
	}
	made, err := p.apply(c, want)
	if err == nil {
		err = p.remember(c.Instance, want)
	}
	if err != nil {
		return errors.Join(err, c.GoBack(), c.Instance.Close())
	}
	if err := errors.Join(c.Instance.Unlock(), p.adopt(c.Instance)); err != nil {
		p.log.Warn("close what is not needed any more", "error", err)
	}
	if want.count() >= manyRules {
		debug.FreeOSMemory() // half a GB that was needed for a moment
	}
	p.log.Info("the kernel limits", "interfaces", made.present, "default", want.limit.String(), "policies", len(made.config.Policies),
		"rules", want.count(), "dry_run", made.config.DryRun, "new", c.Created, "took", time.Since(begin))
	return nil
}

// sized returns the loader's options for a new instance.
func (p *Plane) sized(want *plan) loader.Options {
	o, k := p.options.Loader, &want.file
	o.MaxSources, o.MaxRules, o.IPv6Prefix = k.MaxSources, k.MaxRules, k.IPv6Prefix
	o.HeatMemory = cmp.Or(k.HeatMemory, want.heatMemory())
	return o
}

func (p *Plane) settle(i *loader.Instance) error {
	_, err := change.Settle(i, bootTime()) // one that is not over prepare refuses
	return err
}

// apply does it. The caller goes back where it returns an error.
func (p *Plane) apply(c *change.Change, want *plan) (*prepared, error) {
	made, err := p.prepare(c.Instance, want)
	if err != nil {
		return nil, err
	}
	c.Before = made.before
	p.notices(c, want, made)
	upgraded, err := c.Upgrade()
	if err != nil {
		return nil, err
	}
	if upgraded {
		p.log.Info("upgraded the running program to this version; rules, buckets and counters stay")
	}
	// The limits come first, so that no packet goes through an interface without them.
	if err := change.ResetNew(c.Instance, made.before.Policies, &made.config); err != nil {
		return nil, err
	}
	if err := c.Store(made.config); err != nil {
		return nil, err
	}
	replaced, err := c.Replace(rulemap.Config, made.rules, p.progress(want.count()))
	if err != nil {
		return nil, err
	}
	if replaced.GaveWay > 0 {
		p.log.Warn("rules of the file are left out, as others hold there", "rules", replaced.GaveWay)
	}
	p.noticeLifted(replaced.Done)
	for _, name := range made.present {
		a, already, err := c.Attach(name, want.mode)
		if err != nil {
			return nil, err
		}
		p.noticeAttached(a, want.mode, already)
	}
	return made, p.detachOthers(c, want.file.Interfaces)
}

// detachOthers detaches from what a former Apply attached to and the file does not name.
func (p *Plane) detachOthers(c *change.Change, names []string) error {
	attachments, err := c.Instance.Attachments()
	if err != nil {
		return err
	}
	var named []int
	for _, name := range names {
		named = append(named, numberOf(name))
	}
	for _, a := range attachments {
		if !a.Agent || a.Gone || a.Name == "" || slices.Contains(named, a.Index) {
			continue
		}
		if err := c.Detach(a); err != nil {
			return err
		}
		p.log.Info("detached from an interface that the configuration does not name any more", "interface", a.Name)
	}
	return nil
}

// progress tells how far the writing of many rules is.
func (p *Plane) progress(total int) func(done int) {
	if total < manyRules {
		return nil
	}
	begin, next := time.Now(), manyRules
	return func(done int) {
		if done >= next {
			p.log.Info("writing rules", "done", done, "of", total, "took", time.Since(begin))
			next += manyRules
		}
	}
}

// notices tells of what the operator may not expect.
func (p *Plane) notices(c *change.Change, want *plan, made *prepared) {
	for _, name := range made.missing {
		p.log.Warn("the interface does not exist; it is attached to when it comes", "interface", name)
	}
	if len(made.present) == 0 {
		p.log.Warn("none of the interfaces exists: no packet is limited until one comes")
	}
	if !c.Created && want.file.MaxSources != 0 && int(want.file.MaxSources) != c.Instance.Buckets().Capacity() {
		p.log.Warn("the instance exists and keeps its size; max_sources is for a new one",
			"max_sources", want.file.MaxSources, "has", c.Instance.Buckets().Capacity())
	}
	p.noticeHeat(c, want, made)
	if want.byHand {
		p.log.Info("the default limit was set by hand, and stays so until the file has another one than before",
			"default", want.limit.String(), "file", limitOf(want.file.Default).String())
	}
	if want.limit.IsZero() {
		p.log.Info("no source is limited by default, packets are only counted")
	}
}

// noticeHeat tells where the heat table is not as the file has it, or has less room than a new one should.
func (p *Plane) noticeHeat(c *change.Change, want *plan, made *prepared) {
	memory, asked := c.Instance.Heat().Memory(), want.file.HeatMemory
	if !c.Created && asked != 0 && heatmap.Rounded(asked) != memory {
		p.log.Warn("the instance exists and keeps its size; heat_memory is for a new one", "heat_memory", asked, "has", memory)
	}
	if !c.Created || asked != 0 {
		return
	}
	if least, ok := heatmap.Least(memory, made.config.Policies); ok && least.Rate < heatmap.Flood {
		p.log.Warn("at so low a rate sources are remembered for long, and a flood from made-up addresses finds room only up to "+
			"holds_pps; a larger heat_memory has more, and a policy with unverified: true and key: shared limits all strangers together",
			"policy", least.Policy, "holds_pps", int64(least.Rate), "heat_memory", memory)
	}
}

func (p *Plane) noticeAttached(a loader.Attachment, asked loader.Mode, already bool) {
	if already {
		return
	}
	log := p.log.With("interface", a.Name)
	log.Info("attached", "mode", a.Mode.String(), "up", a.Up)
	if a.Mode == loader.Generic && asked == loader.Auto {
		log.Warn("native mode cannot be had there: generic mode works, but costs more per packet, and the kernel may have merged packets before they are counted (GRO)")
	}
}

// remember keeps what was applied, for Scale and Follow.
func (p *Plane) remember(i *loader.Instance, want *plan) error {
	limit, err := defaultOf(i)
	if err != nil {
		return err
	}
	attachments, err := i.Attachments()
	if err != nil {
		return err
	}
	links := map[string]watched{}
	for _, name := range want.file.Interfaces {
		number := numberOf(name)
		links[name] = watched{index: number, attached: isAttached(attachments, number)}
	}
	p.applied.mu.Lock()
	defer p.applied.mu.Unlock()
	p.applied.times++
	p.applied.file, p.applied.links = &want.file, links
	p.applied.def = standing{instance: i, base: want.base, limit: limit, factor: p.applied.def.factor}
	return nil
}

// numberOf returns the number of the interface that has this name, or one of its alternative names; 0 where there is none.
func numberOf(name string) int {
	found, err := loader.CheckInterfaces([]string{name})
	if err != nil {
		return 0
	}
	return found[0]
}

// isAttached says whether the interface of that number is attached to.
func isAttached(attachments []loader.Attachment, number int) bool {
	return slices.ContainsFunc(attachments, func(a loader.Attachment) bool {
		return a.Index == number && a.Name != "" && !a.Gone
	})
}

package plane

import (
	"errors"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/userspace/metrics"
)

// ruleIndex is what has to be known of all rules together. To read a million takes a second, so it may be older than
// that: it is read at most a twentieth of the time, and after each change that this process was asked for.
type ruleIndex struct {
	counts  map[ruleKind]int
	allowed []rulemap.Rule
}

type ruleKind struct {
	action rulemap.Action
	origin string
}

func (p *Plane) index(i *loader.Instance) (ruleIndex, error) {
	return p.rules.get(p.options.Now, func() (ruleIndex, error) {
		index := ruleIndex{counts: map[ruleKind]int{}}
		for r, err := range i.Rules().All() {
			if err != nil {
				return index, err
			}
			index.counts[ruleKind{r.Action, r.Origin.String()}]++
			if r.Action == rulemap.Allow {
				index.allowed = append(index.allowed, r)
			}
		}
		return index, nil
	})
}

// Snapshot reads the counters. How many rules and sources there are may be somewhat older, see ruleIndex.
func (p *Plane) Snapshot() (metrics.Kernel, error) {
	var k metrics.Kernel
	err := p.reading(func(i *loader.Instance) error {
		stats, err := i.Stats()
		if err != nil {
			return err
		}
		config, err := i.Policies().InForce(bootTime())
		if err != nil {
			return err
		}
		attachments, err := i.Attachments()
		if err != nil {
			return err
		}
		index, err := p.index(i)
		if err != nil {
			return err
		}
		k.Reasons, k.Policies, k.Rules = reasonsOf(&stats), policiesOf(&stats, &config), index.all()
		k.ColdPackets, k.Inserts, k.Deferred = stats.Cold, stats.Inserts, stats.Deferred
		k.Interfaces = p.interfacesOf(attachments)
		k.MaxSources = i.Buckets().Capacity()
		if k.Sources, err = p.sources.get(p.options.Now, i.Buckets().Count); err != nil {
			return err
		}
		if k.Verified, err = i.Verified().Count(bootTime()); err != nil {
			return err
		}
		memory, err := i.Memory()
		for _, m := range memory {
			k.MemoryBytes += m.Bytes
		}
		return err
	})
	return k, err
}

func reasonsOf(stats *statmap.Stats) []metrics.Reason {
	var all []metrics.Reason
	for verdict := range bpf.VerdictLen {
		for _, reason := range statmap.Reasons() {
			c := stats.Count(verdict, reason)
			all = append(all, metrics.Reason{
				Verdict: statmap.VerdictName(verdict), Reason: statmap.ReasonName(reason), Packets: c.Packets, Bytes: c.Bytes,
			})
		}
	}
	return all
}

// policiesOf returns for each policy what each verdict came to: here pass is without would_drop, so that they add up.
func policiesOf(stats *statmap.Stats, config *policymap.Config) []metrics.Policy {
	var all []metrics.Policy
	for _, p := range config.Policies {
		counted := stats.Policy(p.Slot(), p.Baseline())
		for verdict, c := range []statmap.Counter{
			bpf.VerdictPass: counted.Pass.Sub(counted.WouldDrop), bpf.VerdictDrop: counted.Drop, bpf.VerdictWouldDrop: counted.WouldDrop,
		} {
			all = append(all, metrics.Policy{
				Name: p.Name, Verdict: statmap.VerdictName(bpf.Verdict(verdict)), Packets: c.Packets, Bytes: c.Bytes,
			})
		}
	}
	return all
}

func (x ruleIndex) all() []metrics.Rules {
	var all []metrics.Rules
	for _, action := range rulemap.Actions() {
		for _, origin := range rulemap.Origins() {
			all = append(all, metrics.Rules{
				Action: action.String(), Origin: origin.String(), Count: x.counts[ruleKind{action, origin.String()}],
			})
		}
	}
	return all
}

// Interfaces returns what packets are limited on now, as the kernel says, and what the file of the last Apply names beside:
// that is missing, or was detached by hand, or could not be attached to.
func (p *Plane) Interfaces() (all []metrics.Interface, err error) {
	err = p.reading(func(i *loader.Instance) error {
		attachments, err := i.Attachments()
		all = p.interfacesOf(attachments)
		return err
	})
	if errors.Is(err, loader.ErrNotLoaded) {
		all = p.interfacesOf(nil)
		for n := range all {
			all[n].Problem = removed
		}
		return all, nil
	}
	return all, err
}

// interfacesOf returns what is attached to and what the file names beside. What is in another network namespace has no
// name, and is left out.
func (p *Plane) interfacesOf(attachments []loader.Attachment) []metrics.Interface {
	var all []metrics.Interface
	for _, a := range attachments {
		if a.Name != "" && !a.Gone {
			all = append(all, metrics.Interface{Name: a.Name, Mode: a.Mode.String(), Attached: true})
		}
	}
	p.applied.mu.Lock()
	defer p.applied.mu.Unlock()
	if p.applied.file == nil {
		return all
	}
	for _, name := range p.applied.file.Interfaces {
		number := numberOf(name)
		if number != 0 && isAttached(attachments, number) {
			continue
		}
		link := p.applied.links[name]
		i := metrics.Interface{Name: name, Missing: number == 0 || number != link.index}
		if !i.Missing {
			i.Problem = link.problem
		}
		all = append(all, i)
	}
	return all
}

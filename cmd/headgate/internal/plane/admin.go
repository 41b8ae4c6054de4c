package plane

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/change"
	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/bucketmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ipproto"
)

// Rules returns all rules that hold now, by prefix.
func (p *Plane) Rules() ([]admin.KernelRule, error) {
	all := []admin.KernelRule{}
	err := p.reading(func(i *loader.Instance) error {
		rules, err := i.Rules().List()
		if err != nil {
			return err
		}
		config, err := i.Policies().InForce(bootTime())
		if err != nil {
			return err
		}
		for _, r := range rules {
			all = append(all, p.ruleView(r, &config))
		}
		return nil
	})
	return all, err
}

func (p *Plane) ruleView(r rulemap.Rule, config *policymap.Config) admin.KernelRule {
	view := admin.KernelRule{Prefix: r.Prefix, Action: r.Action.String(), Origin: r.Origin.String()}
	if r.Action == rulemap.Limit {
		view.Rate, view.Burst = quotaText(r.Limit.Packets)
		view.Bandwidth, view.BandwidthBurst = quotaText(r.Limit.Bytes)
		view.Policy = config.PolicyLabel(r.PolicyID)
	}
	if r.Until != rulemap.Forever {
		at := p.options.Now().Add(time.Duration(int64(r.Until - bootTime()))).UTC()
		view.Expires = &at
	}
	return view
}

func quotaText(q wire.Quota) (rate string, burst uint64) {
	if q.Rate.IsZero() {
		return "", 0
	}
	return q.Rate.String(), q.Burst
}

// SetRule sets a rule of origin cli, live; for 0 it has no end.
func (p *Plane) SetRule(r config.PrefixRule, period time.Duration) error {
	if period < 0 {
		return admin.Refusal{Err: fmt.Errorf("a rule for %s: the time must not be below 0", period)}
	}
	defer p.rules.forget()
	return refused(p.changed(func(i *loader.Instance) error {
		rule, err := ruleFor(i, r)
		if err != nil {
			return err
		}
		rule.Until = rulemap.Forever
		if period > 0 {
			rule.Until = bootTime() + uint64(period)
		}
		if err := p.options.Guard.Rules(i, lockout.Setting([]rulemap.Rule{rule})); err != nil {
			return err
		}
		done, err := i.Rules().SetAll([]rulemap.Rule{rule}, nil)
		if err != nil {
			return err
		}
		if done.GaveWay > 0 {
			return fmt.Errorf("%s %s: %w", rule.Action, rule.Prefix, rulemap.ErrHeld)
		}
		p.noticeLifted(done)
		return nil
	}))
}

// noticeLifted tells how many offenders an allow rule has freed.
func (p *Plane) noticeLifted(done rulemap.Done) {
	if done.Lifted > 0 {
		p.log.Info("rules for offenders are lifted, as what they are in is allowed now", "rules", done.Lifted)
	}
}

func ruleFor(i *loader.Instance, r config.PrefixRule) (rulemap.Rule, error) {
	prefix := wire.Prefix(r.Prefix)
	if action := actionOf(r.Action); action != rulemap.Limit {
		return rulemap.Rule{Prefix: prefix, Action: action}, nil
	}
	limit := limitOf(r.Limit)
	if _, err := limit.Compile(); err != nil {
		return rulemap.Rule{}, change.Refusal{Err: err}
	}
	rule, err := change.LimitRule(i, prefix, cmp.Or(r.Policy, policymap.Default))
	rule.Limit, rule.Origin = limit, rulemap.CLI
	return rule, err
}

// Unset removes all rules of the prefixes, and returns those that had one.
func (p *Plane) Unset(prefixes []netip.Prefix) (removed []netip.Prefix, err error) {
	canonical := make([]netip.Prefix, len(prefixes))
	for n, prefix := range prefixes {
		canonical[n] = wire.Prefix(prefix)
	}
	defer p.rules.forget()
	err = p.changed(func(i *loader.Instance) error {
		if err := p.options.Guard.Rules(i, lockout.Unsetting(canonical)); err != nil {
			return err
		}
		removed, err = i.Rules().Unset(canonical)
		return err
	})
	return removed, refused(err)
}

// Policies returns all policies with what they counted; the default one first.
func (p *Plane) Policies() ([]admin.KernelPolicy, error) {
	all := []admin.KernelPolicy{}
	err := p.reading(func(i *loader.Instance) error {
		config, err := i.Policies().InForce(bootTime())
		if err != nil {
			return err
		}
		stats, err := i.Stats()
		if err != nil {
			return err
		}
		for _, policy := range config.Policies {
			all = append(all, policyView(policy, &config, stats.Policy(policy.Slot(), policy.Baseline())))
		}
		return nil
	})
	slices.SortStableFunc(all, func(a, b admin.KernelPolicy) int {
		return cmp.Compare(boolInt(a.Name != policymap.Default), boolInt(b.Name != policymap.Default))
	})
	return all, err
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func policyView(p policymap.Policy, config *policymap.Config, counted statmap.Slot) admin.KernelPolicy {
	view := admin.KernelPolicy{
		Name: p.Name, Overflow: p.Overflow.String(), Ports: p.Ports.String(), SYN: p.SYN, Unverified: p.Unverified, Key: p.Key.String(), DryRun: p.DryRun || config.DryRun,
		Pass: admin.Count(counted.Pass), Drop: admin.Count(counted.Drop), WouldDrop: admin.Count(counted.WouldDrop),
	}
	if p.HasProto {
		view.Proto = ipproto.Name(p.Proto)
	}
	view.Rate, view.Burst = quotaText(p.Limit.Packets)
	view.Bandwidth, view.BandwidthBurst = quotaText(p.Limit.Bytes)
	return view
}

// SetPolicy adds a policy, or replaces the one of its name; the name "default" has only a limit and an overflow. It holds until the next
// Apply if the file has the policy, and otherwise for good.
func (p *Plane) SetPolicy(policy config.Policy) error {
	made, err := policyOf(policy)
	if err := cmp.Or(err, made.Validate()); err != nil {
		return admin.Refusal{Err: err}
	}
	if made.Name == policymap.Default && (made.HasProto || made.Ports != policymap.Ports{} || made.SYN || made.Unverified || made.Key == policymap.Shared || made.DryRun) {
		return admin.Refusal{Err: errors.New("the default policy matches every packet; it has only a limit and an overflow")}
	}
	return refused(p.changed(func(i *loader.Instance) error { return p.setPolicy(i, made, policy.Overflow == "") }))
}

// keepOverflow has setPolicy leave the overflow as it is.
const keepOverflow = true

// setPolicy puts a policy in force, of one that is there with the overflow that it has if that is to be kept. The lock
// is held.
func (p *Plane) setPolicy(i *loader.Instance, policy policymap.Policy, keep bool) error {
	config, err := i.Policies().Load()
	if err != nil {
		return err
	}
	if before, ok := config.Policy(policy.Name); ok {
		policy.FromConfig = before.FromConfig
		if keep {
			policy.Overflow = before.Overflow
		}
	}
	if err := change.SetPolicy(i, &config, policy); err != nil {
		return err
	}
	if err := p.options.Guard.Config(i, &config, nil); err != nil {
		return err
	}
	return i.Policies().Store(config)
}

// DeletePolicy removes a policy; admin.ErrNotFound if there is none of the name. One of the file comes back with the next Apply.
func (p *Plane) DeletePolicy(name string) error {
	if name == policymap.Default {
		return admin.Refusal{Err: errors.New("the default policy stays; a limit without rates lifts it")}
	}
	return refused(p.changed(func(i *loader.Instance) error {
		deleted, err := change.DeletePolicy(i, name)
		if err == nil && !deleted {
			err = fmt.Errorf("policy %q: %w; the list of policies has those that there are", name, admin.ErrNotFound)
		}
		return err
	}))
}

// Top returns the sources that lost most, at most n: all of them are read, which takes a second for a million.
func (p *Plane) Top(n int) ([]admin.KernelSource, error) {
	all := []admin.KernelSource{}
	err := p.reading(func(i *loader.Instance) error {
		config, err := i.Policies().InForce(bootTime())
		if err != nil {
			return err
		}
		sources, err := i.Buckets().List()
		if err != nil {
			return err
		}
		slices.SortFunc(sources, bucketmap.CompareLost)
		for _, s := range sources[:min(max(n, 0), len(sources))] {
			all = append(all, admin.KernelSource{
				Source: config.Source(s.Addr), Policy: config.PolicyLabel(s.PolicyID),
				Pass: admin.Count(s.Pass), Drop: admin.Count(s.Drop), WouldDrop: admin.Count(s.WouldDrop),
			})
		}
		return nil
	})
	return all, err
}

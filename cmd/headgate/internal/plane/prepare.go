package plane

import (
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/cmd/headgate/internal/change"
	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
)

// prepared is a plan as it becomes of what there is.
type prepared struct {
	before, config policymap.Config
	rules          iter.Seq[rulemap.Rule]
	present        []string // interfaces of the file that there are
	missing        []string
}

// prepare finds all that is to be refused, and changes nothing.
func (p *Plane) prepare(i *loader.Instance, want *plan) (*prepared, error) {
	before, err := i.Policies().Load()
	if err != nil {
		return nil, err
	}
	if before.ValidUntil != policymap.Forever {
		return nil, errors.New("an attach by hand is on trial; confirm it there, or wait until it has gone back")
	}
	stats, err := i.Stats()
	if err != nil {
		return nil, err
	}
	if most := i.Buckets().MaxIPv6Prefix(); want.file.IPv6Prefix > most {
		return nil, fmt.Errorf("ipv6_prefix %d: the instance at %s was made for at most %d bits; "+
			"`headgate detach --all` and start again to tell longer ones apart", want.file.IPv6Prefix, p.options.Loader.Dir, most)
	}
	p.byHand(i, &before, want)
	made, indices, err := p.shape(want, before, stats.Slots())
	if err != nil {
		return nil, err
	}
	if err := made.checkOthers(i); err != nil {
		return nil, err
	}
	if err := p.options.Guard.Config(i, &made.config, made.ruleChange(), indices...); err != nil {
		return nil, guarded(err)
	}
	return made, errors.Join(i.CheckFree(made.present), checkModes(i, made.present, want.mode))
}

// prepareNew is prepare where there is no instance yet.
func (p *Plane) prepareNew(want *plan) error {
	made, indices, err := p.shape(want, policymap.NewConfig(), [policymap.MaxPolicies][bpf.VerdictLen]bpf.Counter{})
	if err != nil {
		return err
	}
	if err := p.options.Guard.New(&made.config, made.ruleChange(), indices); err != nil {
		return guarded(err)
	}
	return loader.CheckUnused(made.present)
}

// shape makes the configuration and the rules of a plan.
func (p *Plane) shape(want *plan, before policymap.Config, counters [policymap.MaxPolicies][bpf.VerdictLen]bpf.Counter) (*prepared, []int, error) {
	made := &prepared{before: before}
	var indices []int
	var err error
	if made.present, made.missing, indices, err = interfaces(want.file.Interfaces); err != nil {
		return nil, nil, err
	}
	if made.config, err = want.config(before, counters); err != nil {
		return nil, nil, err
	}
	if err := want.checkRules(&made.config); err != nil {
		return nil, nil, err
	}
	made.rules = want.rules(&made.config)
	return made, indices, nil
}

// interfaces returns which of the interfaces there are, with their numbers.
func interfaces(names []string) (present, missing []string, indices []int, err error) {
	for _, name := range names {
		found, err := loader.CheckInterfaces([]string{name})
		switch {
		case err == nil:
			present, indices = append(present, name), append(indices, found...)
		case errors.Is(err, loader.ErrNoInterface):
			missing = append(missing, name)
		default:
			return nil, nil, nil, err
		}
	}
	return present, missing, indices, nil
}

// config returns the configuration that takes the place of before. counters are those of all slots.
func (w *plan) config(before policymap.Config, counters [policymap.MaxPolicies][bpf.VerdictLen]bpf.Counter) (policymap.Config, error) {
	config := before
	config.DryRun = w.file.DryRun
	config.IPv4Prefix, config.IPv6Prefix = w.file.IPv4Prefix, w.file.IPv6Prefix
	policy, ok := config.Policy(policymap.Default)
	if !ok {
		policy = policymap.Policy{Name: policymap.Default}
	}
	policy.Limit, policy.Overflow = w.limit, w.overflow
	if err := config.Set(policy, counters); err != nil {
		return config, err
	}
	return config, config.SetFromConfig(w.policies, counters)
}

// checkOthers refuses to leave rules of others without a meaning: limits for a part of a source, and limits of a policy
// that goes.
func (m *prepared) checkOthers(i *loader.Instance) error {
	var gone []policymap.Policy
	for _, p := range m.before.Policies {
		if _, stays := m.config.Policy(p.Name); !stays {
			gone = append(gone, p)
		}
	}
	shorter := m.config.IPv4Prefix < m.before.IPv4Prefix || m.config.IPv6Prefix < m.before.IPv6Prefix
	if len(gone) == 0 && !shorter {
		return nil // reading a million rules takes a second
	}
	var others []rulemap.Rule
	for rule, err := range i.Rules().All() {
		if err != nil {
			return err
		}
		if rule.Origin != rulemap.Config && !ofFleet(rule.Origin) { // SetFleet leaves out what there is no place for any more
			others = append(others, rule)
		}
	}
	for _, p := range gone {
		if err := change.InUse(p, others); err != nil {
			return fmt.Errorf("the file does not have the policy any more, but %w", err)
		}
	}
	return partHint(change.CheckSources(&m.config, others))
}

// ruleChange is what becomes of the rules about an address.
func (m *prepared) ruleChange() lockout.Change {
	return func(held []rulemap.Rule, addr netip.Addr) []rulemap.Rule {
		held = slices.DeleteFunc(held, func(r rulemap.Rule) bool { return r.Origin == rulemap.Config })
		for r := range m.rules {
			if !r.Prefix.Contains(addr) {
				continue
			}
			same := func(old rulemap.Rule) bool { return old.Prefix == r.Prefix && old.Action == r.Action }
			switch n := slices.IndexFunc(held, same); {
			case n < 0:
				held = append(held, r)
			case !r.GivesWay(held[n].Origin, held[n].Until):
				held[n] = r
			}
		}
		return held
	}
}

// checkModes refuses another mode than an interface is attached in: to change it, it has to be detached from.
func checkModes(i *loader.Instance, names []string, mode loader.Mode) error {
	attachments, err := i.Attachments()
	if err != nil || mode == loader.Auto {
		return err
	}
	var named []int
	for _, name := range names {
		named = append(named, numberOf(name))
	}
	for _, a := range attachments {
		if a.Name != "" && !a.Gone && slices.Contains(named, a.Index) && a.Mode != mode {
			return fmt.Errorf("%s is attached in %s mode; `headgate detach %s` first to attach in %s mode", a.Name, a.Mode, a.Name, mode)
		}
	}
	return nil
}

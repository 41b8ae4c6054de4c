package plane

import (
	"fmt"
	"iter"
	"net/netip"
	"os"
	"time"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/cmd/headgate/internal/prefixlist"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/config"
)

// plan is what a kernel section asks for, as far as that can be said without looking at the kernel.
type plan struct {
	file     config.Kernel
	mode     loader.Mode
	overflow policymap.Overflow // of the default policy
	base     wire.Limit         // of the default policy
	limit    wire.Limit         // base times the factor
	byHand   bool               // base is not the file's
	policies []policymap.Policy
	groups   []group
}

// group is prefixes of which the same is said.
type group struct {
	prefixes []netip.Prefix
	action   rulemap.Action
	limit    wire.Limit
	policy   string // of a limit
	from     string // where it stands
}

// planOf reads the lists that a kernel section names, and finds what is wrong with it by itself.
func (p *Plane) planOf(k config.Kernel, factor float64) (*plan, error) {
	mode, err := loader.ParseMode(k.Mode)
	if err != nil {
		return nil, err
	}
	overflow, err := policymap.ParseOverflow(k.Overflow)
	if err != nil {
		return nil, err
	}
	base := limitOf(k.Default)
	want := &plan{file: k, mode: mode, overflow: overflow, base: base, limit: scaled(base, factor)}
	if _, err := want.limit.Compile(); err != nil {
		return nil, fmt.Errorf("the default limit: %w", err)
	}
	for _, p := range k.Policies {
		policy, err := policyOf(p)
		if err != nil {
			return nil, err
		}
		want.policies = append(want.policies, policy)
	}
	for _, r := range k.Rules {
		want.groups = append(want.groups, group{
			prefixes: []netip.Prefix{r.Prefix}, action: actionOf(r.Action), limit: limitOf(r.Limit), policy: r.Policy,
			from: fmt.Sprintf("line %d", r.Line),
		})
	}
	for _, f := range k.RuleFiles {
		prefixes, err := p.list(f.Path)
		if err != nil {
			return nil, err
		}
		want.groups = append(want.groups, group{
			prefixes: prefixes, action: actionOf(f.Action), limit: limitOf(f.Limit), policy: f.Policy, from: f.Path,
		})
	}
	return want, want.checkLimits()
}

// list reads a file with a prefix a line.
func (p *Plane) list(path string) ([]netip.Prefix, error) {
	begin := time.Now()
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read the list: %s is no regular file", path) // a pipe would wait for its writer
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	defer f.Close()
	prefixes, masked, err := prefixlist.Read(f, path)
	if err != nil {
		return nil, err
	}
	p.log.Debug("read a list of rules", "file", path, "prefixes", len(prefixes), "took", time.Since(begin))
	if masked > 0 {
		p.log.Warn("prefixes have host bits set; they are masked", "file", path, "prefixes", masked)
	}
	return prefixes, nil
}

// checkLimits refuses limits that cannot be kept, and two for one prefix, which has room for one.
func (w *plan) checkLimits() error {
	limits := map[netip.Prefix]*group{}
	for n := range w.groups {
		g := &w.groups[n]
		if g.action != rulemap.Limit {
			continue
		}
		if _, err := g.limit.Compile(); err != nil {
			return fmt.Errorf("%s: %w", g.from, err)
		}
		for _, prefix := range g.prefixes {
			prefix = wire.Prefix(prefix)
			if other := limits[prefix]; other != nil && (other.limit != g.limit || other.policyName() != g.policyName()) {
				return fmt.Errorf("%s: %s has another limit already, of %s; a prefix has room for one", g.from, prefix, other.from)
			}
			limits[prefix] = g
		}
	}
	return nil
}

// heatMemory returns the size of the heat table that the limits ask for, 0 where the policies cannot be.
func (w *plan) heatMemory() uint64 {
	config, err := w.config(policymap.NewConfig(), [policymap.MaxPolicies][bpf.VerdictLen]bpf.Counter{})
	if err != nil {
		return 0 // prepare says why
	}
	return heatmap.MemoryFor(config.Policies, heatmap.MostByDefault)
}

// policyName returns the name of the policy whose limit the group's takes the place of.
func (g *group) policyName() string {
	if g.policy == "" {
		return policymap.Default
	}
	return g.policy
}

// checkRules refuses limits for a part of a source, or of a policy that there is not, and says where they stand.
func (w *plan) checkRules(config *policymap.Config) error {
	for _, g := range w.groups {
		if g.action != rulemap.Limit {
			continue
		}
		if _, ok := config.Policy(g.policyName()); !ok {
			return fmt.Errorf("%s: %w: %q", g.from, policymap.ErrNoPolicy, g.policyName())
		}
		for _, prefix := range g.prefixes {
			if err := config.CheckWhole(wire.Prefix(prefix)); err != nil {
				return fmt.Errorf("%s: %w", g.from, partHint(err))
			}
		}
	}
	return nil
}

// rules yields the rules under a configuration, one by one, as a million at once would take up 100 MB.
func (w *plan) rules(config *policymap.Config) iter.Seq[rulemap.Rule] {
	return func(yield func(rulemap.Rule) bool) {
		for _, g := range w.groups {
			rule := rulemap.Rule{Action: g.action, Until: rulemap.Forever, Origin: rulemap.Config}
			if g.action == rulemap.Limit {
				policy, _ := config.Policy(g.policyName())
				rule.Limit, rule.PolicyID = g.limit, policy.ID()
			}
			for _, rule.Prefix = range g.prefixes {
				if !yield(rule) {
					return
				}
			}
		}
	}
}

// count returns how many rules there are.
func (w *plan) count() int {
	count := 0
	for _, g := range w.groups {
		count += len(g.prefixes)
	}
	return count
}

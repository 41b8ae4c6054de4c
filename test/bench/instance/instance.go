// Package instance loads the limiter by itself, without pins, so that a benchmark can run its programs.
package instance

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/bucketmap"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/maps/wire"
)

// Setup is what a limiter is told.
type Setup struct {
	Policies []policymap.Policy
	Rules    []rulemap.Rule // those that limit are for the first policy
	Buckets  uint32         // how many sources there is room for
}

// Instance is a limiter that is loaded.
type Instance struct {
	coll *ebpf.Collection
}

// New loads a limiter, which needs root.
func New(s Setup) (*Instance, error) {
	spec, err := bpf.Load()
	if err != nil {
		return nil, err
	}
	spec.Maps[bpf.MapBuckets].MaxEntries = s.Buckets
	bucketmap.SetKeys(spec.Maps[bpf.MapBuckets], policymap.NewConfig().IPv6Prefix)
	if err := setConstants(spec); err != nil {
		return nil, err
	}
	coll, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, fmt.Errorf("load the limiter: %w", err)
	}
	in := &Instance{coll: coll}
	if err := coll.Maps[bpf.MapGlobals].Put(uint32(0), &bpf.Global{Salt: salt()}); err != nil {
		in.Close()
		return nil, fmt.Errorf("set the salt: %w", err)
	}
	if err := in.configure(s, spec.Maps[bpf.MapConfigs].InnerMap); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// setConstants gives the program what the loader gives it by default.
func setConstants(spec *ebpf.CollectionSpec) error {
	heat, err := heatmap.OfMachine(heatmap.DefaultMemory, spec.Maps[bpf.MapBuckets].MaxEntries)
	if err != nil {
		return err
	}
	if err := spec.Variables[bpf.VarHashSalt].Set(salt()); err != nil {
		return err
	}
	return heatmap.Configure(spec, heat, heat.Credits())
}

// salt returns what hashes are seeded with, the same in each run.
func salt() (words wire.Salt) {
	random := rand.New(rand.NewPCG(3, 4))
	for i := range words {
		words[i] = random.Uint64()
	}
	return words
}

func (in *Instance) configure(s Setup, inner *ebpf.MapSpec) error {
	config := policymap.NewConfig()
	for _, p := range s.Policies {
		if err := config.Set(p, [policymap.MaxPolicies][bpf.VerdictLen]bpf.Counter{}); err != nil {
			return err
		}
	}
	if err := policymap.New(in.coll.Maps[bpf.MapConfigs], inner, "").Store(config); err != nil {
		return err
	}
	rules := slices.Clone(s.Rules)
	for i := range rules {
		if rules[i].Action == rulemap.Limit {
			rules[i].PolicyID = config.Policies[0].ID()
		}
	}
	_, err := rulemap.New(in.coll.Maps, wire.BootTime).SetAll(rules, nil)
	return err
}

// Program returns the XDP program: that for frames of one buffer, or for those of several.
func (in *Instance) Program(frags bool) *ebpf.Program {
	if frags {
		return in.coll.Programs[bpf.ProgramFrags]
	}
	return in.coll.Programs[bpf.Program]
}

// Expect returns an error unless as good as all packets were decided for a reason: then
// something else was measured than meant.
func (in *Instance) Expect(reason bpf.Reason) error {
	const enough = 0.999
	stats, err := in.Stats()
	if err != nil {
		return err
	}
	var sum uint64
	for _, r := range statmap.Reasons() {
		sum += stats.Reason(r).Packets
	}
	share := float64(stats.Reason(reason).Packets) / float64(max(sum, 1))
	if share < enough {
		return fmt.Errorf("only %.2f%% of the packets were decided for the reason %s",
			100*share, statmap.ReasonName(reason))
	}
	return nil
}

// Stats returns what the limiter has counted.
func (in *Instance) Stats() (statmap.Stats, error) {
	return statmap.Read(in.coll.Maps[bpf.MapCounters])
}

// Close unloads the limiter, once nothing runs its program.
func (in *Instance) Close() { in.coll.Close() }

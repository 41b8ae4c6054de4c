package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/bucketmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/maps/wire"
)

// How many buckets an instance has where they hardly matter, and where they do.
const (
	fewBuckets  = 1 << 12
	manyBuckets = 1 << 20
)

// setup is what a limiter is told.
type setup struct {
	policies []policymap.Policy
	rules    []rulemap.Rule // those that limit are for the first policy
	buckets  uint32
}

// instance is a limiter that is loaded.
type instance struct {
	coll *ebpf.Collection
}

func newInstance(s setup) (*instance, error) {
	spec, err := bpf.Load()
	if err != nil {
		return nil, err
	}
	spec.Maps[bpf.MapBuckets].MaxEntries = s.buckets
	if err := spec.Variables[bpf.VarHashSalt].Set(salt()); err != nil {
		return nil, fmt.Errorf("set the salt: %w", err)
	}
	bucketmap.SetKeys(spec.Maps[bpf.MapBuckets], policymap.NewConfig().IPv6Prefix)
	coll, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, fmt.Errorf("load the limiter: %w", err)
	}
	in := &instance{coll: coll}
	if err := coll.Maps[bpf.MapGlobals].Put(uint32(0), &bpf.Global{Salt: salt()}); err != nil {
		in.close()
		return nil, fmt.Errorf("set the salt: %w", err)
	}
	if err := in.configure(s, spec.Maps[bpf.MapConfigs].InnerMap); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// salt returns what hashes are seeded with, the same in each run.
func salt() (words wire.Salt) {
	random := rand.New(rand.NewPCG(3, 4))
	for i := range words {
		words[i] = random.Uint64()
	}
	return words
}

func (in *instance) configure(s setup, inner *ebpf.MapSpec) error {
	config := policymap.NewConfig()
	for _, p := range s.policies {
		if err := config.Set(p, [policymap.MaxPolicies][bpf.VerdictLen]bpf.Counter{}); err != nil {
			return err
		}
	}
	if err := policymap.New(in.coll.Maps[bpf.MapConfigs], inner, "").Store(config); err != nil {
		return err
	}
	rules := slices.Clone(s.rules)
	for i := range rules {
		if rules[i].Action == rulemap.Limit {
			rules[i].PolicyID = config.Policies[0].ID()
		}
	}
	_, err := rulemap.New(in.coll.Maps, wire.BootTime).SetAll(rules, nil)
	return err
}

func (in *instance) program(frags bool) *ebpf.Program {
	if frags {
		return in.coll.Programs[bpf.ProgramFrags]
	}
	return in.coll.Programs[bpf.Program]
}

// expect returns an error unless as good as all packets were decided for a reason: then
// something else was measured than meant.
func (in *instance) expect(reason bpf.Reason) error {
	const enough = 0.999
	stats, err := statmap.Read(in.coll.Maps[bpf.MapCounters])
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

func (in *instance) close() { in.coll.Close() }

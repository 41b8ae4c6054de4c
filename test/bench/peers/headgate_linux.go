package main

import (
	"errors"
	"time"

	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/bench/flow"
	"github.com/headgate/headgate/test/bench/instance"
	"github.com/headgate/headgate/userspace/rate"
)

// buckets is how many sources headgate has room for, which is its default.
const buckets = 1 << 20

func perSource() policymap.Policy {
	return policymap.Policy{Name: policymap.Default, Limit: packets(limitRate, limitBurst)}
}

// together is the limit against forged addresses. Nobody is verified here, so it is on all.
func together() policymap.Policy {
	return policymap.Policy{Name: "together", Unverified: true, Key: policymap.Shared, Limit: packets(totalRate, totalBurst)}
}

func packets(perSecond, burst uint64) wire.Limit {
	return wire.Limit{Packets: wire.Quota{
		Rate:  rate.Rate{Count: perSecond, Per: time.Second, Unit: rate.Packets},
		Burst: burst,
	}}
}

// headgate returns how to set headgate up with policies. It passes to the same end as all others.
func (p programs) headgate(policies ...policymap.Policy) func(*flow.Flow) (tally, func() error, error) {
	return func(f *flow.Flow) (tally, func() error, error) { return p.load(f, policies) }
}

func (p programs) load(f *flow.Flow, policies []policymap.Policy) (tally, func() error, error) {
	in, err := instance.New(instance.Setup{Policies: policies, Buckets: buckets})
	if err != nil {
		return nil, nil, err
	}
	n, err := p.addRules(f.Pair.Far, sinkRules)
	if err := errors.Join(err, f.Receive(in.Program(false))); err != nil {
		in.Close()
		return nil, nil, err
	}
	read := func() (counts, error) {
		c, err := n.counts()
		if err != nil {
			return c, err
		}
		stats, err := in.Stats()
		c.over = stats.Drop().Packets
		return c, err
	}
	return read, func() error { in.Close(); return n.remove() }, nil
}

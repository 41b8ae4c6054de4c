package main

import (
	"time"

	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/bench/instance"
	"github.com/headgate/headgate/userspace/rate"
)

// fast is a limit that no run comes near.
func fast() wire.Limit {
	return wire.Limit{Packets: wire.Quota{
		Rate:  rate.Rate{Count: 100_000_000, Per: time.Second, Unit: rate.Packets},
		Burst: 1_000_000,
	}}
}

// slow is a limit that all but the first packet of a source are over.
func slow() wire.Limit {
	return wire.Limit{Packets: wire.Quota{
		Rate:  rate.Rate{Count: 1, Per: time.Hour, Unit: rate.Packets},
		Burst: 1,
	}}
}

// newInstance returns a limiter with one limit for each source, and room for so many.
func newInstance(limit wire.Limit, buckets uint32) (*instance.Instance, error) {
	return instance.New(instance.Setup{
		Policies: []policymap.Policy{{Name: policymap.Default, Limit: limit}},
		Buckets:  buckets,
	})
}

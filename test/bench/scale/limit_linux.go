package main

import (
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/bench/instance"
)

// newInstance returns a limiter with one limit for each source, and room for so many.
func newInstance(limit wire.Limit, buckets uint32) (*instance.Instance, error) {
	return instance.New(instance.Setup{
		Policies: []policymap.Policy{{Name: policymap.Default, Limit: limit}},
		Buckets:  buckets,
	})
}

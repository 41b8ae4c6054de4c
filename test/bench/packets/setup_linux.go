package main

import (
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/test/bench/instance"
)

// How many buckets an instance has where they hardly matter, and where they do.
const (
	fewBuckets  = 1 << 12
	manyBuckets = 1 << 20
)

// setup is what a limiter is told, in the order in which the lists of subjects say it.
type setup struct {
	policies []policymap.Policy
	rules    []rulemap.Rule
	buckets  uint32
}

func newInstance(s setup) (*instance.Instance, error) {
	return instance.New(instance.Setup{Policies: s.policies, Rules: s.rules, Buckets: s.buckets})
}

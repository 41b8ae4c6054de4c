package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/bench/instance"
	"github.com/headgate/headgate/userspace/rate"
)

// usual returns the limit of a source of which a server can take many.
func usual() wire.Limit {
	return wire.Limit{Packets: wire.Quota{
		Rate:  rate.Rate{Count: 1000, Per: time.Second, Unit: rate.Packets},
		Burst: 2000,
	}}
}

// fastBoth returns a limit in packets and bytes that no run comes near.
func fastBoth() wire.Limit {
	limit := instance.Fast()
	limit.Bytes = wire.Quota{
		Rate:  rate.Rate{Count: 50_000_000_000, Per: time.Second, Unit: rate.Bytes},
		Burst: 1_000_000_000,
	}
	return limit
}

func onePolicy(limit wire.Limit) []policymap.Policy {
	return []policymap.Policy{{Name: policymap.Default, Limit: limit}}
}

// strangers returns the default policy and one with a limit that all unverified sources share.
func strangers(shared wire.Limit) []policymap.Policy {
	return append(onePolicy(instance.Fast()), policymap.Policy{
		Name: "strangers", Unverified: true, Key: policymap.Shared, Limit: shared,
	})
}

// manyPolicies returns n policies that all match the frames, each in words of its own.
func manyPolicies(n int, limit wire.Limit) []policymap.Policy {
	policies := onePolicy(limit)
	for i := range n - 1 {
		policies = append(policies, policymap.Policy{
			Name:     fmt.Sprintf("udp-%d", i),
			HasProto: true,
			Proto:    unix.IPPROTO_UDP,
			Ports:    policymap.Ports{First: framePort, Last: framePort + uint16(i)},
			Limit:    limit,
		})
	}
	return policies
}

package plane

import (
	"net/netip"
	"time"

	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/handdown"
	"github.com/headgate/headgate/userspace/rate"
)

// limitTo is a limit of which nothing comes back during a test.
func limitTo(packets uint64) config.KernelLimit {
	return config.KernelLimit{Rate: rate.Rate{Count: 6, Per: time.Hour, Unit: rate.Packets}, Burst: packets}
}

func wireTo(packets uint64) wire.Limit { return limitOf(limitTo(packets)) }

func defaultLimit(packets uint64) func(*config.Kernel) {
	return func(k *config.Kernel) { k.Default = limitTo(packets) }
}

// policy is one for a UDP port.
func policy(name string, port uint16, packets uint64) func(*config.Kernel) {
	return func(k *config.Kernel) {
		k.Policies = append(k.Policies, config.Policy{
			Name: name, Proto: "udp", Protocol: 17, FirstPort: port, LastPort: port, Limit: limitTo(packets),
		})
	}
}

func rules(all ...config.PrefixRule) func(*config.Kernel) {
	return func(k *config.Kernel) { k.Rules = append(k.Rules, all...) }
}

func block(prefix string) config.PrefixRule {
	return config.PrefixRule{Prefix: netip.MustParsePrefix(prefix), Action: config.Block}
}

func allow(prefix string) config.PrefixRule {
	return config.PrefixRule{Prefix: netip.MustParsePrefix(prefix), Action: config.Allow}
}

func limited(prefix, policy string, packets uint64) config.PrefixRule {
	return config.PrefixRule{Prefix: netip.MustParsePrefix(prefix), Action: config.Limit, Limit: limitTo(packets), Policy: policy}
}

func interfacesNamed(names ...string) func(*config.Kernel) {
	return func(k *config.Kernel) { k.Interfaces = names }
}

func offender(prefix string) handdown.Rule {
	return handdown.Rule{Prefix: netip.MustParsePrefix(prefix), Action: config.Block, For: time.Hour}
}

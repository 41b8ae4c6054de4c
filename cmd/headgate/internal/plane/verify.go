package plane

import (
	"net/netip"
	"time"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
)

// Verify makes the sources of these addresses verified for a time. It takes no lock: an entry of the table is written
// in one step, and says nothing about any other.
func (p *Plane) Verify(addrs []netip.Addr, period time.Duration) error {
	return p.reading(func(i *loader.Instance) error {
		now := bootTime()
		config, err := i.Policies().InForce(now)
		if err != nil {
			return err
		}
		sources := make([]netip.Addr, len(addrs))
		for n, addr := range addrs {
			sources[n] = config.Cut(addr)
		}
		return i.Verified().Add(sources, now+uint64(max(period, 0)))
	})
}

// disprove makes offenders unverified, so that they have to prove anew who they are when their rule is over. Of a rule
// that is for several sources it does so for the first of them: nobody knows which of the others there are.
func disprove(i *loader.Instance, rules []rulemap.Rule, config *policymap.Config) error {
	sources := make([]netip.Addr, len(rules))
	for n, r := range rules {
		sources[n] = config.Cut(r.Prefix.Addr())
	}
	return i.Verified().Remove(sources)
}

package plane

import (
	"cmp"
	"math"
	"time"

	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/rate"
)

// limitOf translates a limit, with the default burst where it has none.
func limitOf(l config.KernelLimit) wire.Limit {
	return wire.Limit{Packets: quotaOf(l.Rate, l.Burst), Bytes: quotaOf(l.Bandwidth, l.BandwidthBurst)}
}

func quotaOf(r rate.Rate, burst uint64) wire.Quota {
	if r.IsZero() {
		return wire.Quota{}
	}
	if burst == 0 {
		burst = r.DefaultBurst()
	}
	return wire.Quota{Rate: r, Burst: burst}
}

// kernelLimitOf is the inverse of limitOf.
func kernelLimitOf(l wire.Limit) config.KernelLimit {
	return config.KernelLimit{
		Rate: l.Packets.Rate, Burst: l.Packets.Burst, Bandwidth: l.Bytes.Rate, BandwidthBurst: l.Bytes.Burst,
	}
}

// scaled returns a limit with its rates and bursts times factor: then the share of its burst that a source has used stays
// what it is, as a bucket keeps its debt in time.
func scaled(l wire.Limit, factor float64) wire.Limit {
	const fewBytes = 64 << 10 // a burst in bytes is at least so much, or what it was: packets have to fit
	l.Packets = scaledQuota(l.Packets, factor, 1)
	l.Bytes = scaledQuota(l.Bytes, factor, min(fewBytes, l.Bytes.Burst))
	return l
}

func scaledQuota(q wire.Quota, factor float64, least uint64) wire.Quota {
	if factor == 1 || q.Rate.IsZero() {
		return q
	}
	return wire.Quota{
		Rate:  scaledRate(q.Rate, factor),
		Burst: max(least, uint64(math.Round(min(float64(q.Burst)*factor, math.MaxInt64)))),
	}
}

// scaledRate rounds to whole packets a second, or an hour where they are few, or to whole bytes a second. What is beyond
// the range of rates is cut to it. r is not 0.
func scaledRate(r rate.Rate, factor float64) rate.Rate {
	const fewPackets = 1000        // a second
	per, most := time.Second, 50e9 // bytes a second
	perSecond := float64(r.Count) / r.Per.Seconds() * factor
	if r.Unit == rate.Packets {
		if most = 100e6; perSecond < fewPackets {
			per = time.Hour
		}
	}
	count := math.Round(min(max(perSecond*per.Seconds(), 1), most*per.Seconds()))
	canonical, err := rate.FromInterval(uint64(count), per, r.Unit)
	if err != nil {
		return r // not reached: each whole number of these is a rate
	}
	return canonical
}

// policyOf translates a policy. One that does not say what its overflow is gets the default.
func policyOf(p config.Policy) (policymap.Policy, error) {
	overflow, err := policymap.ParseOverflow(cmp.Or(p.Overflow, config.OverflowEstimate))
	policy := policymap.Policy{
		Name:     p.Name,
		HasProto: p.Proto != "",
		Ports:    policymap.Ports{First: p.FirstPort, Last: p.LastPort},
		SYN:      p.SYN,
		DryRun:   p.DryRun,
		Limit:    limitOf(p.Limit),

		Unverified: p.Unverified,
		Overflow:   overflow,
	}
	if policy.HasProto {
		policy.Proto = p.Protocol
	}
	if p.Shared {
		policy.Key = policymap.Shared
	}
	return policy, err
}

func actionOf(a config.Action) rulemap.Action {
	switch a {
	case config.Allow:
		return rulemap.Allow
	case config.Block:
		return rulemap.Block
	default:
		return rulemap.Limit
	}
}

// configAction is the inverse of actionOf.
func configAction(a rulemap.Action) config.Action { return config.Action(a.String()) }

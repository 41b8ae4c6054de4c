package admin

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ipproto"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

// RuleSetting is a rule of the kernel as it is set.
type RuleSetting struct {
	Prefix         string `json:"prefix" doc:"an address or prefix, as 203.0.113.7 or 2001:db8::/32"`
	Action         string `json:"action" enum:"allow,block,limit"`
	Rate           string `json:"rate,omitempty" doc:"of a limit: packets, as 500pps, 10kpps or 30ppm"`
	Burst          uint64 `json:"burst,omitempty" doc:"packets; by default those of a second"`
	Bandwidth      string `json:"bandwidth,omitempty" doc:"of a limit: as 100Mbit/s or 12MB/s"`
	BandwidthBurst uint64 `json:"bandwidth_burst,omitempty" doc:"bytes; by default those of a second"`
	Policy         string `json:"policy,omitempty" doc:"of a limit: whose limit it takes the place of; by default that of default"`
	For            string `json:"for,omitempty" doc:"how long it holds, as 30s, 10m or 12h; by default it has no end"`
}

// PolicySetting is a policy of the kernel as it is set.
type PolicySetting struct {
	Proto          string `json:"proto,omitempty" doc:"IP protocol: tcp, udp, icmp, icmpv6 or a number; by default any"`
	Ports          string `json:"ports,omitempty" doc:"destination ports, as 53 or 1000-2000; by default any"`
	SYN            bool   `json:"syn,omitempty" doc:"only packets that open a TCP connection"`
	Unverified     bool   `json:"unverified,omitempty" doc:"only packets of sources that are not verified"`
	Key            string `json:"key,omitempty" enum:"source,shared" doc:"whose packets count together: each source's (the default), or all"`
	DryRun         bool   `json:"dry_run,omitempty" doc:"count what would be dropped, and drop nothing"`
	Overflow       string `json:"overflow,omitempty" enum:"estimate,pass,drop" doc:"what becomes of packets of a source near its limit while there is no bucket for it; by default what it was, or estimate"`
	Rate           string `json:"rate,omitempty" doc:"packets, as 500pps, 10kpps or 30ppm"`
	Burst          uint64 `json:"burst,omitempty" doc:"packets; by default those of a second"`
	Bandwidth      string `json:"bandwidth,omitempty" doc:"as 100Mbit/s or 12MB/s"`
	BandwidthBurst uint64 `json:"bandwidth_burst,omitempty" doc:"bytes; by default those of a second"`
}

// rule returns the rule, and how long it holds: 0 for ever.
func (s *RuleSetting) rule() (r config.PrefixRule, period time.Duration, err error) {
	r = config.PrefixRule{Action: config.Action(s.Action), Policy: s.Policy}
	if r.Prefix, err = parsePrefix(s.Prefix); err != nil {
		return r, 0, err
	}
	if s.For != "" {
		if period, err = time.ParseDuration(s.For); err != nil || period <= 0 {
			return r, 0, fmt.Errorf("for %.40q: use a time above 0, as 30s, 10m or 12h", s.For)
		}
	}
	if r.Limit, err = parseLimit(s.Rate, s.Burst, s.Bandwidth, s.BandwidthBurst); err != nil {
		return r, 0, err
	}
	limited := !r.Limit.IsZero()
	switch r.Action {
	case config.Allow, config.Block:
		if limited || s.Policy != "" {
			return r, 0, fmt.Errorf("a rule that says %s has no limit and no policy; leave them out, or use the action limit", s.Action)
		}
	case config.Limit:
		if !limited {
			return r, 0, errors.New("a limit needs a rate or a bandwidth")
		}
	default:
		return r, 0, fmt.Errorf("action %.40q: use allow, block or limit", s.Action)
	}
	return r, period, nil
}

// policy returns the policy of a name.
func (s *PolicySetting) policy(name string) (p config.Policy, err error) {
	p = config.Policy{Name: name, Proto: s.Proto, SYN: s.SYN, Unverified: s.Unverified, Shared: s.Key == "shared", DryRun: s.DryRun, Overflow: s.Overflow}
	if s.Key != "" && s.Key != "source" && s.Key != "shared" {
		return p, fmt.Errorf("key %.40q: use source or shared", s.Key)
	}
	if s.Overflow != "" && !slices.Contains(config.Overflows(), s.Overflow) {
		return p, fmt.Errorf("overflow %.40q: use estimate, pass or drop", s.Overflow)
	}
	if p.Proto != "" {
		var known bool
		if p.Protocol, known = ipproto.Parse(s.Proto); !known {
			return p, fmt.Errorf("proto %.40q: use tcp, udp, icmp, icmpv6 or a number up to 255", s.Proto)
		}
	}
	if s.Ports != "" {
		if p.FirstPort, p.LastPort, err = ipproto.ParsePorts(s.Ports); err != nil {
			return p, fmt.Errorf("ports %w", err)
		}
	}
	p.Limit, err = parseLimit(s.Rate, s.Burst, s.Bandwidth, s.BandwidthBurst)
	if err == nil && p.Limit.IsZero() {
		err = errors.New("a policy needs a rate or a bandwidth")
	}
	return p, err
}

// parseLimit reads a limit; what is empty does not limit.
func parseLimit(packets string, burst uint64, bandwidth string, bandwidthBurst uint64) (l config.KernelLimit, err error) {
	if l.Rate, l.Burst, err = parseQuota(rate.ParsePackets, "rate", packets, burst); err != nil {
		return config.KernelLimit{}, err
	}
	l.Bandwidth, l.BandwidthBurst, err = parseQuota(rate.ParseBandwidth, "bandwidth", bandwidth, bandwidthBurst)
	return l, err
}

// parseQuota reads a rate; name is what the API calls it. A burst of 0 is the default one.
func parseQuota(parse func(string) (rate.Rate, error), name, text string, burst uint64) (rate.Rate, uint64, error) {
	if text == "" {
		if burst > 0 {
			return rate.Rate{}, 0, fmt.Errorf("there is a burst and no %s; give both, or none", name)
		}
		return rate.Rate{}, 0, nil
	}
	r, err := parse(text)
	if err != nil {
		return rate.Rate{}, 0, err
	}
	burst = cmp.Or(burst, r.DefaultBurst())
	_, err = limit.Compile(r, burst)
	return r, burst, err
}

// parsePrefix reads an address or a prefix, and makes it canonical.
func parsePrefix(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		if addr.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("prefix %.60q: leave out the zone", s)
		}
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("prefix %.60q: use an address such as 203.0.113.7 or a prefix such as 203.0.113.0/24", s)
	}
	const mapped = 96
	if p.Addr().Is4In6() && p.Bits() >= mapped {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped)
	}
	if p != p.Masked() {
		return netip.Prefix{}, fmt.Errorf("prefix %.60q has bits beyond its length; use %s", s, p.Masked())
	}
	return p, nil
}

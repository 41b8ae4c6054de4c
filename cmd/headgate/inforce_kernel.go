package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/rate"
)

// rulesShown is how many rules for prefixes are told.
const rulesShown = 10

// kernelInForce returns what is said of a kernel section.
func kernelInForce(k *config.Kernel) render.SectionInForce {
	s := render.SectionInForce{Name: "kernel"}
	s.Add("interfaces", strings.Join(k.Interfaces, ", ")+"; "+modeWords(k.Mode))
	s.Add("sources", fmt.Sprintf("IPv4 by /%d, IPv6 by /%d; %s %s", k.IPv4Prefix, k.IPv6Prefix, roomWords(k), overflowWords(k.Overflow)))
	if k.HeatMemory > 0 {
		s.Add("heat", rate.FormatSize(k.HeatMemory)+" for sources that are far from their limit")
	}
	s.Add("default", "each source: "+kernelLimitWords(k.Default))
	for _, p := range k.Policies {
		s.Add("policy", policyWords(p, k.Overflow))
	}
	if slices.ContainsFunc(k.Policies, func(p config.Policy) bool { return p.Unverified }) {
		s.Add("verified", verifiedWords(k))
	}
	for _, r := range k.Rules[:min(len(k.Rules), rulesShown)] {
		s.Add("rule", prefixWords(r.Prefix)+": "+rulingWords(r.Action, r.Limit, r.Policy))
	}
	if more := len(k.Rules) - rulesShown; more > 0 {
		s.Add("rule", fmt.Sprintf("and %d more", more))
	}
	for _, f := range k.RuleFiles {
		s.Add("rules of", f.Path+": "+rulingWords(f.Action, f.Limit, f.Policy))
	}
	if k.DryRun {
		s.Add("dry run", "what would be dropped is counted, and passes")
	}
	return s
}

func modeWords(mode string) string {
	switch mode {
	case config.ModeNative:
		return "in the driver (native)"
	case config.ModeGeneric:
		return "after the driver, slower (generic)"
	default:
		return "in the driver if it can, else after it (auto)"
	}
}

func roomWords(k *config.Kernel) string {
	if k.MaxSources > 0 {
		return "beyond " + rate.FormatCount(uint64(k.MaxSources))
	}
	return "where there is no room for more"
}

// overflowWords says what becomes of sources that there is no room for.
func overflowWords(overflow string) string {
	switch overflow {
	case config.OverflowDrop:
		return "those near their limit are dropped"
	case config.OverflowPass:
		return "those near their limit pass"
	default:
		return "they are limited by estimates"
	}
}

// verifiedWords says who is not under policies for unverified sources.
func verifiedWords(k *config.Kernel) string {
	const ruled = "who has a limit in rules"
	if k.VerifiedFor == 0 {
		return ruled
	}
	return "who sent a request that was allowed, for " + render.Duration(k.VerifiedFor) + "; " + ruled
}

func kernelLimitWords(l config.KernelLimit) string {
	if l.IsZero() {
		return "no limit, packets are counted"
	}
	return wire.Limit{
		Packets: wire.Quota{Rate: l.Rate, Burst: l.Burst},
		Bytes:   wire.Quota{Rate: l.Bandwidth, Burst: l.BandwidthBurst},
	}.String()
}

// policyWords says what a policy does. usual is the overflow of those that do not say.
func policyWords(p config.Policy, usual string) string {
	matches := "packets"
	switch {
	case p.SYN:
		matches = "packets that open a TCP connection"
	case p.Proto != "":
		matches = p.Proto + " packets"
	}
	if p.FirstPort != 0 {
		matches += " to port " + portWords(p)
	}
	if p.Unverified {
		matches += " of unverified sources"
	}
	whose := "each source"
	if p.Shared {
		whose = "all together"
	}
	words := fmt.Sprintf("%s: %s, %s: %s", p.Name, matches, whose, kernelLimitWords(p.Limit))
	if p.Overflow != usual {
		words += "; where there is no room " + overflowWords(p.Overflow)
	}
	if p.DryRun {
		words += "; dry run"
	}
	return words
}

func portWords(p config.Policy) string {
	if p.FirstPort == p.LastPort {
		return strconv.Itoa(int(p.FirstPort))
	}
	return fmt.Sprintf("%d to %d", p.FirstPort, p.LastPort)
}

func rulingWords(a config.Action, l config.KernelLimit, policy string) string {
	switch {
	case a == config.Allow:
		return "all passes"
	case a == config.Block:
		return "all is dropped"
	case policy != "":
		return "each source, in the place of the limit of policy " + policy + ": " + kernelLimitWords(l)
	default:
		return "each source: " + kernelLimitWords(l)
	}
}

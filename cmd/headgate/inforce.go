package main

import (
	"cmp"
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit/nginx"
)

// inForce returns what is said of a file.
func inForce(file *config.File, processes int) *render.InForce {
	h := file.HTTP
	f := &render.InForce{
		Sections: sectionsInForce(file),
		Client:   clientWords(h.ClientIP), Allow: []string{}, Headers: headerWords(h.Headers),
		Zones: []render.ZoneInForce{}, Rules: []render.RuleInForce{}, Processes: processes,
	}
	for _, prefix := range h.Allow {
		f.Allow = append(f.Allow, prefixWords(prefix))
	}
	for i, z := range h.Zones {
		f.Zones = append(f.Zones, zoneInForce(h, i, z))
	}
	for _, r := range h.Rules {
		f.Rules = append(f.Rules, ruleInForce(h, r))
	}
	return f
}

func clientWords(c config.ClientIP) string {
	cut := fmt.Sprintf("; IPv4 by /%d, IPv6 by /%d", c.IPv4Prefix, c.IPv6Prefix)
	proxies := proxyWords(c)
	switch {
	case c.Header == "":
		return "the address of the TCP peer" + cut
	case c.Hops > 0 && proxies == "":
		return fmt.Sprintf("value %d from the right of %s, of every peer%s", c.Hops, c.Header, cut)
	case c.Hops > 0:
		return fmt.Sprintf("value %d from the right of %s, of the peers %s; of others their own address%s", c.Hops, c.Header, proxies, cut)
	}
	return fmt.Sprintf("the first value from the right of %s that is none of the trusted proxies %s; of other peers their own address%s", c.Header, proxies, cut)
}

func proxyWords(c config.ClientIP) string {
	var all []string
	for _, p := range c.TrustedProxies {
		all = append(all, prefixWords(p))
	}
	if c.TrustUnix {
		all = append(all, "unix")
	}
	return fewOf(all)
}

// fewOf lists texts, and says how many more there are if they are many.
func fewOf(texts []string) string {
	const shown = 4
	if more := len(texts) - shown; more > 0 {
		texts = append(texts[:shown:shown], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

func prefixWords(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

func headerWords(s config.HeaderStyle) string {
	switch s {
	case config.HeadersDraft10:
		return "RateLimit and RateLimit-Policy (draft10)"
	case config.HeadersPolli:
		return "RateLimit-Limit, -Remaining and -Reset (polli)"
	case config.HeadersXRateLimit:
		return "X-RateLimit-Limit, -Remaining and -Reset (x-ratelimit)"
	case config.HeadersXRate:
		return "X-Rate-Limit-Limit, -Remaining and -Reset (x-rate-limit)"
	}
	return "none (off)"
}

func zoneInForce(h config.HTTP, i int, z config.Zone) render.ZoneInForce {
	view := render.ZoneInForce{
		Name: z.Name, Limit: z.Quota.Text, Algorithm: string(z.Algorithm), MaxKeys: z.MaxKeys,
		Overrides: overridesInForce(z), Allow: len(z.Allow),
	}
	if z.Algorithm == config.Concurrent {
		view.Limit = slotWords(z.Slots)
	}
	if z.Store == config.StoreRedis {
		view.Store = z.Store
	}
	for _, p := range z.Key {
		view.Key = append(view.Key, p.String())
		if p.Kind == config.KeyIP {
			view.IPv4Prefix = cmp.Or(z.IPv4Prefix, h.ClientIP.IPv4Prefix)
			view.IPv6Prefix = cmp.Or(z.IPv6Prefix, h.ClientIP.IPv6Prefix)
		}
	}
	for _, r := range h.Rules {
		for _, u := range r.Limits {
			view.Used = view.Used || u.Zone == i
		}
	}
	return view
}

func slotWords(n uint64) string { return fmt.Sprintf("%d at a time", n) }

// sharedInForce returns what is said of a limit that machines share as a rule has it, for the keys of one quota.
func sharedInForce(r config.Rule, z config.Zone, q config.Quota, slots uint64) *render.SharedLimit {
	if z.Store != config.StoreRedis {
		return nil
	}
	limit := q.Text
	if z.Algorithm == config.Concurrent {
		limit = slotWords(slots)
	}
	l := &render.SharedLimit{Limit: limit, OnFailure: string(r.OnStoreFailure), Status: cmp.Or(r.FailStatus, r.Status)}
	if z.Algorithm != config.Window { // a lease ends with the window that it is from
		l.Lease = z.Lease
	}
	return l
}

func ruleInForce(h config.HTTP, r config.Rule) render.RuleInForce {
	view := render.RuleInForce{
		Name: r.Name, Match: matchWords(r.Match), Limits: []render.LimitInForce{},
		Status: r.Status, DryRun: r.DryRun, Continue: r.Continue,
	}
	for _, u := range r.Limits {
		z := h.Zones[u.Zone]
		l := limitInForce(z, u, z.Quota, z.Slots)
		l.Shared = sharedInForce(r, z, z.Quota, z.Slots)
		for _, o := range z.Overrides {
			l.Overrides = append(l.Overrides, render.OverriddenLimit{
				Value: valueWords(o.Value), Limit: limitInForce(z, u, o.Quota, o.Slots),
			})
		}
		view.Limits = append(view.Limits, l)
	}
	return view
}

func overridesInForce(z config.Zone) []render.OverrideInForce {
	all := []render.OverrideInForce{}
	for _, o := range z.Overrides {
		all = append(all, render.OverrideInForce{Value: valueWords(o.Value), Rate: o.Quota.Text, Concurrent: o.Slots})
	}
	return all
}

// valueWords words the value of a key, as keys are worded.
func valueWords(v config.Value) string {
	var parts []string
	for _, p := range v {
		if p.Prefix.IsValid() {
			p.Text = prefixWords(p.Prefix)
		}
		parts = append(parts, p.Text)
	}
	return strings.Join(parts, ", ")
}

func matchWords(m config.Match) string {
	var parts []string
	if m.Host.Text != "" {
		parts = append(parts, "host "+m.Host.Text)
	}
	if m.Path.Text != "" {
		parts = append(parts, "path "+m.Path.Text)
	}
	if len(m.Method) > 0 {
		parts = append(parts, "method "+strings.Join(m.Method, " or "))
	}
	if len(parts) == 0 {
		return "every request"
	}
	return strings.Join(parts, ", ")
}

// limitInForce returns what a zone means as a rule uses it, for the keys of one quota.
func limitInForce(z config.Zone, u config.Use, q config.Quota, slots uint64) render.LimitInForce {
	cost := max(u.Cost, 1)
	l := render.LimitInForce{
		Zone: z.Name, Key: keyWords(z.Key), Algorithm: string(z.Algorithm), Rate: q.Text,
		Burst: u.Burst, Delay: u.Delay, Cost: cost,
	}
	switch z.Algorithm {
	case config.Concurrent:
		l.AtOnce = slots / cost
		l.Prompt = l.AtOnce
		return l
	case config.Window, config.Sliding:
		l.AtOnce, l.Window = q.Count/cost, render.Milliseconds(q.Per)
		l.Prompt = l.AtOnce
	default:
		l.AtOnce, l.Prompt = (u.Burst+1)/cost, (u.Delay+1)/cost
	}
	l.Interval = render.Milliseconds(intervalOf(z.Algorithm, q, cost))
	return l
}

// intervalOf returns the time between two requests in the long run, rounded up.
func intervalOf(a config.Algorithm, q config.Quota, cost uint64) time.Duration {
	if a == config.Nginx {
		if r, err := nginx.RateOf(q.Count, q.Per); err == nil {
			q = config.Quota{Count: uint64(r), Per: 1000 * time.Second}
		}
	}
	n := new(big.Int).Mul(big.NewInt(int64(q.Per)), new(big.Int).SetUint64(cost))
	count := new(big.Int).SetUint64(max(q.Count, 1))
	n.Add(n, count).Sub(n, big.NewInt(1)).Div(n, count)
	if !n.IsInt64() {
		return 1<<63 - 1
	}
	return time.Duration(n.Int64())
}

// keyWords words what requests are counted by; empty if all requests have one key.
func keyWords(key []config.KeyPart) string {
	var parts []string
	for _, p := range key {
		switch {
		case p.Kind == config.KeyConst:
		case p.Name == "":
			parts = append(parts, string(p.Kind))
		default:
			parts = append(parts, string(p.Kind)+" "+p.Name)
		}
	}
	return strings.Join(parts, " and ")
}

package config_test

import (
	"net"
	"net/netip"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

// checkAgent checks what users of the sections other than http rely on.
func checkAgent(t *testing.T, f *config.File) {
	t.Helper()
	if (len(f.Listen) > 0) != (f.Upstream != nil) {
		t.Errorf("%d listeners and upstream %v: want both or none", len(f.Listen), f.Upstream)
	}
	if f.HandDown != nil && f.Kernel == nil {
		t.Error("hand-down without kernel")
	}
	if f.Kernel != nil {
		checkKernel(t, f.Kernel)
	}
	checkListeners(t, f)
	checkServing(t, f)
	if f.HandDown != nil {
		checkHandDown(t, f)
	}
	if f.Adaptive != nil {
		checkAdaptive(t, f)
	}
	checkRedis(t, f)
}

// checkRedis checks what those who connect to servers rely on, and those who keep limits there.
func checkRedis(t *testing.T, f *config.File) {
	t.Helper()
	r := f.Redis
	if r != nil && (len(r.Addrs) == 0 || r.Prefix == "" || r.Timeout < time.Millisecond || r.Timeout > time.Second || r.MaxInFlight < 1 ||
		(r.Master != "") != (r.Mode == config.RedisSentinel) || r.Mode == config.RedisSingle && len(r.Addrs) != 1 || r.Mode == config.RedisCluster && r.Database != 0) {
		t.Errorf("redis %+v", r)
	}
	if f.Fleet != nil && (r == nil || f.Fleet.Follow && f.Kernel == nil || f.Fleet.HandDown && f.HandDown == nil || f.Fleet.MaxPublished < 1 || f.Fleet.MaxRules < 1) {
		t.Errorf("fleet %+v of %+v", f.Fleet, r)
	}
	grouped := map[int]bool{}
	for _, g := range f.HTTP.Groups() {
		for _, i := range g.Zones {
			if grouped[i] || f.HTTP.Zones[i].Store != config.StoreRedis {
				t.Errorf("groups %+v: zone %d is there twice, or not shared", f.HTTP.Groups(), i)
			}
			grouped[i] = true
		}
	}
	for i, z := range f.HTTP.Zones {
		shared := z.Store == config.StoreRedis
		if z.Store == "" || shared != grouped[i] || shared && (r == nil || z.Algorithm == config.Nginx || z.Algorithm == config.Sketch) ||
			z.Lease > 0 && (!shared || z.Algorithm == config.Concurrent) {
			t.Errorf("zone %+v", z)
		}
	}
}

func checkKernel(t *testing.T, k *config.Kernel) {
	t.Helper()
	if len(k.Interfaces) == 0 || k.Mode == "" || !slices.Contains(config.Overflows(), k.Overflow) || len(k.Policies) > 7 {
		t.Errorf("kernel %+v", k)
	}
	checkLimit(t, k.Default, true)
	policies := map[string]bool{"": true}
	for _, p := range k.Policies {
		checkLimit(t, p.Limit, false)
		if !slices.Contains(config.Overflows(), p.Overflow) || policies[p.Name] || p.Name == "default" || p.FirstPort > p.LastPort || (p.FirstPort == 0) != (p.LastPort == 0) {
			t.Errorf("policy %+v", p)
		}
		policies[p.Name] = true
	}
	type place struct {
		prefix netip.Prefix
		action config.Action
	}
	seen := make(map[place]bool)
	for _, r := range k.Rules {
		checkRuling(t, r.Action, r.Limit, policies[r.Policy])
		if at := (place{r.Prefix, r.Action}); seen[at] || r.Prefix != r.Prefix.Masked() || r.Prefix.Addr().Is4In6() && r.Prefix.Bits() >= 96 {
			t.Errorf("rule %+v, twice %t", r, seen[at])
		}
		seen[place{r.Prefix, r.Action}] = true
	}
	for _, r := range k.RuleFiles {
		checkRuling(t, r.Action, r.Limit, policies[r.Policy] && r.Path != "")
	}
}

func checkRuling(t *testing.T, a config.Action, l config.KernelLimit, right bool) {
	t.Helper()
	if !right || a != config.Allow && a != config.Block && a != config.Limit || (a == config.Limit) == l.IsZero() {
		t.Errorf("a rule to %q, limit %+v", a, l)
	}
	checkLimit(t, l, true)
}

func checkLimit(t *testing.T, l config.KernelLimit, zero bool) {
	t.Helper()
	if l.IsZero() && !zero {
		t.Error("no limit")
	}
	for _, d := range []struct {
		rate  rate.Rate
		burst uint64
	}{{l.Rate, l.Burst}, {l.Bandwidth, l.BandwidthBurst}} {
		if d.rate.IsZero() && d.burst == 0 {
			continue
		}
		if _, err := limit.Compile(d.rate, d.burst); err != nil {
			t.Errorf("limit %+v: %v", l, err)
		}
	}
}

func checkListeners(t *testing.T, f *config.File) {
	t.Helper()
	all := f.Listen
	if f.Auth != nil {
		all = append(append(all[:len(all):len(all)], f.Auth.Listen...), f.Auth.GRPC...)
		if len(f.Auth.Listen)+len(f.Auth.GRPC) == 0 {
			t.Error("auth without listeners")
		}
	}
	if f.Metrics != nil {
		all = append(all[:len(all):len(all)], f.Metrics.Listen)
	}
	for _, l := range all {
		switch l.Network {
		case config.NetworkTCP:
			if _, err := net.ResolveTCPAddr("tcp", l.Address); err != nil {
				t.Errorf("listener %+v: %v", l, err)
			}
		case config.NetworkUnix:
			if !path.IsAbs(l.Address) {
				t.Errorf("listener %+v", l)
			}
		case config.NetworkSystemd:
		default:
			t.Errorf("listener %+v", l)
		}
		if l.TLS != nil && (l.TLS.Certificate == "" || l.TLS.Key == "") {
			t.Errorf("listener %+v has half of TLS", l)
		}
	}
}

func checkServing(t *testing.T, f *config.File) {
	t.Helper()
	durations := []time.Duration{f.Timeouts.Header, f.Timeouts.Read, f.Timeouts.Write, f.Timeouts.Idle, f.Timeouts.Drain}
	if u := f.Upstream; u != nil {
		durations = append(durations, u.Timeout, u.Health.Interval, u.Health.Timeout)
		if len(u.Servers) == 0 || u.Health.Failures < 1 || u.Health.Successes < 1 || u.Health.Timeout > u.Health.Interval {
			t.Errorf("upstream %+v", u)
		}
		for _, s := range u.Servers {
			if s.Scheme != "http" && s.Scheme != "https" || s.Hostname() == "" || s.Path != "" || s.User != nil {
				t.Errorf("server %s", s)
			}
		}
	}
	for _, d := range durations {
		if d < time.Millisecond || d > 24*time.Hour {
			t.Errorf("a time of %s", d)
		}
	}
	if a := f.Admin; a != nil && (a.Socket == "" && a.Listen == nil || (a.Listen == nil) != (a.TokenFile == "") || a.Access.Mode&0o600 != 0o600) {
		t.Errorf("admin %+v", a)
	}
	if tr := f.Tracing; tr != nil && (tr.Endpoint == "" || !(tr.Ratio >= 0 && tr.Ratio <= 1)) {
		t.Errorf("tracing %+v", tr)
	}
}

func checkHandDown(t *testing.T, f *config.File) {
	t.Helper()
	h := f.HandDown
	if h.After < 1 || h.Within <= 0 || h.For < time.Second || h.Max < h.For || h.MaxRules < 1 || (h.Action == config.Limit) == h.Limit.IsZero() {
		t.Errorf("hand-down %+v", h)
	}
	if h.IPv4Prefix < 8 || h.IPv4Prefix > 32 || h.IPv6Prefix < 16 || h.IPv6Prefix > 128 {
		t.Errorf("hand-down of /%d and /%d", h.IPv4Prefix, h.IPv6Prefix)
	}
	if h.Action == config.Limit && (h.IPv4Prefix > f.Kernel.IPv4Prefix || h.IPv6Prefix > f.Kernel.IPv6Prefix) {
		t.Errorf("hand-down %+v limits parts of sources of %+v", h, f.Kernel)
	}
	checkLimit(t, h.Limit, true)
}

func checkAdaptive(t *testing.T, f *config.File) {
	t.Helper()
	a, signals := f.Adaptive, 0
	for _, given := range []bool{a.Latency.Target > 0, a.Errors > 0, a.InFlight > 0} {
		if given {
			signals++
		}
	}
	bounds := a.Floor > 0 && a.Floor <= 1 && a.Ceiling >= 1 && a.Increase > 0 && a.Decrease > 0 && a.Decrease < 1 && a.Recover > 0 && a.Recover <= 1
	if signals != 1 || !bounds || a.Interval <= 0 || !a.Kernel && !a.HTTP || a.Kernel && f.Kernel == nil || len(f.Listen) == 0 {
		t.Errorf("adaptive %+v", a)
	}
}

// Package agentfake is an agent that does nothing, for tests of what administers one.
package agentfake

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
)

// Agent implements admin.Agent with what does not change, and remembers what was asked of it. The zero value has no
// kernel section. Its fields are set before it is used; its methods may be called at the same time.
type Agent struct {
	// WithKernel says that there is a kernel's limiter.
	WithKernel bool
	// Off says that there is no handdown section, and no redis section.
	Off bool
	// FleetError is what SetFleet and UnsetFleet return.
	FleetError error
	// Warnings are of the file in force.
	Warnings []string
	// ReloadError is what Reload returns.
	ReloadError error
	// Listening, if set, has an element for each listener that was made.
	Listening chan struct{}
	// Bus is where its events come from.
	Bus event.Bus

	mu    sync.Mutex
	calls []string
}

// Noon is the moment in which all happens.
func Noon() time.Time { return time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC) }

// Calls returns what changes were asked for, in order.
func (a *Agent) Calls() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

func (a *Agent) called(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, fmt.Sprintf(format, args...))
}

// Status implements admin.Agent.
func (a *Agent) Status() admin.Status {
	s := admin.Status{
		Version: "v1.2.3", PID: 812, Started: Noon().Add(-90 * time.Minute), UptimeSeconds: 5400,
		Config: admin.ConfigStatus{
			File: "/etc/headgate/headgate.yaml", SHA256: strings.Repeat("0123456789abcdef", 4), LoadedAt: Noon().Add(-time.Hour),
			Warnings: a.Warnings,
		},
		Listeners: []admin.Listener{
			{Serves: "proxy", Network: "tcp", Address: "0.0.0.0:8443", TLS: true, Requests: 123456},
			{Serves: "admin", Network: "unix", Address: admin.DefaultSocket},
		},
		Upstream: []admin.Server{
			{URL: "http://127.0.0.1:9000", Healthy: true, Health: admin.Healthy, InFlight: 3},
			{URL: "http://127.0.0.1:9001", Health: admin.LeftOut, Error: "connection refused"},
		},
		Interfaces: []admin.Interface{},
		NginxLogs:  []admin.Log{},
		HandDown:   !a.Off,
	}
	if a.WithKernel {
		s.Interfaces = []admin.Interface{
			{Name: "eth0", State: admin.Attached, Mode: "native"}, {Name: "eth1", State: admin.Missing},
			{Name: "eth2", State: admin.Failed, Error: "another XDP program is attached"},
		}
		s.Adaptive = &admin.Adaptive{Signal: "latency", Value: 0.25, Target: 0.2, Factor: 0.5, Floor: 0.1, Ceiling: 1}
	}
	if a.ReloadError != nil {
		at := Noon()
		s.Config.Error, s.Config.FailedAt = a.ReloadError.Error(), &at
	}
	return s
}

// Zones implements admin.Agent.
func (a *Agent) Zones() []admin.Zone {
	return []admin.Zone{
		{
			Name: "perip", Key: []string{"ip"}, Algorithm: "leaky", Rate: "10r/s", Overrides: 2, Keys: 4711,
			MaxKeys: 100000, Store: "memory", Allowed: 1000, Delayed: 20, Refused: 300, EvictedLive: 1,
		},
		{Name: "slots", Key: []string{"ip", "path"}, Algorithm: "concurrent", Concurrent: 4, Changed: true, Store: "redis", Keys: 2, Allowed: 9, WouldRefuse: 5},
	}
}

func (a *Agent) zone(name string, key []string) (admin.Zone, error) {
	for _, z := range a.Zones() {
		switch {
		case z.Name != name:
		case key != nil && len(key) != len(z.Key):
			return z, admin.Refusal{Err: fmt.Errorf("a key of zone %q has %d parts, not %d", name, len(z.Key), len(key))}
		default:
			return z, nil
		}
	}
	return admin.Zone{}, fmt.Errorf("zone %.40q: %w; there are perip and slots", name, admin.ErrNotFound)
}

// SetZone implements admin.Agent.
func (a *Agent) SetZone(name string, change admin.ZoneChange) (admin.Zone, error) {
	a.called("set zone %s to %s %d", name, change.Quota.Text, change.Slots)
	z, err := a.zone(name, nil)
	z.Rate, z.Concurrent, z.Changed = change.Quota.Text, change.Slots, true
	return z, err
}

// Peek implements admin.Agent.
func (a *Agent) Peek(zone string, key []string) ([]admin.KeyState, error) {
	z, err := a.zone(zone, key)
	if err != nil {
		return nil, err
	}
	return []admin.KeyState{state(z, key)}, nil
}

func state(z admin.Zone, key []string) admin.KeyState {
	return admin.KeyState{
		Zone: z.Name, Rule: "rule 1", Key: strings.Join(key, ", "), Parts: key, Rate: z.Rate, Limit: 21, Remaining: 3,
		Owes: 18.5, RetryAfterSeconds: 0, ResetSeconds: 1.85,
	}
}

// Reset implements admin.Agent. It knows only keys that begin with 203.0.113.7.
func (a *Agent) Reset(zone string, key []string) (bool, error) {
	a.called("reset %s %q", zone, key)
	_, err := a.zone(zone, key)
	return err == nil && key[0] == "203.0.113.7", err
}

// TopKeys implements admin.Agent.
func (a *Agent) TopKeys(zone string, n int) ([]admin.KeyState, error) {
	z, err := a.zone(zone, nil)
	if err != nil || z.Name == "slots" {
		return nil, err
	}
	all := []admin.KeyState{state(z, []string{"203.0.113.7"}), state(z, []string{"2001:db8::/64"})}
	return all[:min(n, len(all))], nil
}

// Offenders implements admin.Agent.
func (a *Agent) Offenders(n int) ([]admin.Offender, error) {
	if a.Off {
		return nil, fmt.Errorf("hand-down is %w; add a handdown section", admin.ErrOff)
	}
	all := []admin.Offender{
		{Source: netip.MustParsePrefix("203.0.113.7/32"), Offences: 20, Strikes: 2, Origin: "http", Action: "block", ExpiresSeconds: 119.5},
		{Source: netip.MustParsePrefix("2001:db8::/64"), Offences: 3, Origin: "nginx"},
		{Source: netip.MustParsePrefix("10.0.0.9/32"), Offences: 20, Origin: "http", Spared: "private"},
	}
	return all[:min(n, len(all))], nil
}

// Report implements admin.Agent. It spares private addresses, and hands down what is reported 20 times.
func (a *Agent) Report(r admin.Report) (admin.Outcome, error) {
	a.called("report %s %q %s %d", r.Prefix, r.Reason, r.Origin, r.Count)
	o := admin.Outcome{Prefix: r.Prefix, Outcome: "counted", Offences: r.Count, After: 20, WithinSeconds: 10}
	switch {
	case a.Off:
		return o, fmt.Errorf("hand-down is %w; add a handdown section", admin.ErrOff)
	case !r.Prefix.IsSingleIP():
		return o, admin.Refusal{Err: fmt.Errorf("%s is wider than /32; report addresses", r.Prefix)}
	case r.Prefix.Addr().IsPrivate():
		o.Outcome, o.Reason, o.Offences = "spared", "private", 0
	case r.Count >= 20:
		o.Outcome, o.ForSeconds = "handed_down", 60
	}
	return o, nil
}

// Reload implements admin.Agent.
func (a *Agent) Reload() error {
	a.called("reload")
	return a.ReloadError
}

// Drain implements admin.Agent.
func (a *Agent) Drain() { a.called("drain") }

// Events implements admin.Agent.
func (a *Agent) Events() *event.Listener {
	l := a.Bus.Listen()
	if a.Listening != nil {
		a.Listening <- struct{}{}
	}
	return l
}

// Kernel implements admin.Agent.
func (a *Agent) Kernel() admin.Kernel {
	if !a.WithKernel {
		return nil
	}
	return kernel{a}
}

// kernel implements admin.Kernel.
type kernel struct{ a *Agent }

func (k kernel) Rules() ([]admin.KernelRule, error) {
	end := Noon().Add(time.Minute)
	return []admin.KernelRule{
		{Prefix: netip.MustParsePrefix("203.0.113.0/24"), Action: "limit", Rate: "100pps", Burst: 200, Policy: "default", Origin: "cli"},
		{Prefix: netip.MustParsePrefix("203.0.113.7/32"), Action: "block", Expires: &end, Origin: "handdown"},
	}, nil
}

func (k kernel) SetRule(r config.PrefixRule, period time.Duration) error {
	k.a.called("set %s %s %s/%d %s/%d %q for %s", r.Prefix, r.Action, r.Limit.Rate, r.Limit.Burst,
		r.Limit.Bandwidth, r.Limit.BandwidthBurst, r.Policy, period)
	if r.Prefix.Bits() == 0 {
		return admin.Refusal{Err: errors.New("it would cut off the gateway")}
	}
	return nil
}

func (k kernel) Unset(prefixes []netip.Prefix) ([]netip.Prefix, error) {
	k.a.called("unset %s", prefixes)
	return prefixes[:1], nil
}

func (k kernel) Policies() ([]admin.KernelPolicy, error) {
	return []admin.KernelPolicy{
		{Name: "default", Key: "source", Overflow: "estimate", Rate: "10kpps", Burst: 20000, Pass: admin.Count{Packets: 1, Bytes: 84}},
		{Name: "dns", Proto: "udp", Ports: "53", Unverified: true, Key: "shared", DryRun: true, Overflow: "drop", Rate: "50pps", Burst: 100},
	}, nil
}

func (k kernel) SetPolicy(p config.Policy) error {
	k.a.called("policy %s %q %d %d-%d syn %t unverified %t shared %t dry %t overflow %q %s/%d %s/%d", p.Name, p.Proto, p.Protocol, p.FirstPort, p.LastPort,
		p.SYN, p.Unverified, p.Shared, p.DryRun, p.Overflow, p.Limit.Rate, p.Limit.Burst, p.Limit.Bandwidth, p.Limit.BandwidthBurst)
	return nil
}

func (k kernel) DeletePolicy(name string) error {
	if name != "dns" {
		return fmt.Errorf("policy %.40q: %w; there is dns", name, admin.ErrNotFound)
	}
	k.a.called("delete %s", name)
	return nil
}

func (k kernel) Top(n int) ([]admin.KernelSource, error) {
	return []admin.KernelSource{{Source: netip.MustParsePrefix("203.0.113.7/32"), Policy: "default", Drop: admin.Count{Packets: 9, Bytes: 756}}}, nil
}

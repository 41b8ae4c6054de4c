package agent

import (
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/headgate/headgate/userspace/adaptive"
	"github.com/headgate/headgate/userspace/metrics"
	"github.com/headgate/headgate/userspace/ruleset"
)

// newMetrics returns metrics that read the agent at each scrape.
func (a *Agent) newMetrics() *metrics.Metrics {
	return metrics.New(metrics.Sources{
		Build:      metrics.Build{Version: a.options.Version},
		HTTP:       func() ruleset.Counters { return a.state.rules.live.Counters() },
		Kernel:     a.kernelMetrics,
		HandDown:   a.handDownMetrics,
		Verify:     a.verifyMetrics,
		Adaptive:   a.adaptiveMetrics,
		Servers:    a.serverMetrics,
		Listeners:  a.listenerMetrics,
		Config:     a.configMetrics,
		LostEvents: a.bus.Lost,
		Store:      a.storeMetrics,
		Fleet:      a.fleetMetrics,
		Log:        a.log,
	})
}

func (a *Agent) metricsHandler() http.Handler {
	return metrics.NewMux(a.metrics,
		metrics.Check{Name: "agent", Ready: a.ready},
		metrics.Check{Name: "upstream", Ready: a.upstreamReady},
	)
}

func (a *Agent) ready() error {
	if a.state.ctx.Err() != nil {
		return errors.New("draining")
	}
	return nil
}

func (a *Agent) upstreamReady() error {
	all := a.serverMetrics()
	if len(all) > 0 && !slices.ContainsFunc(all, func(s metrics.Server) bool { return s.Healthy }) {
		return errors.New("all servers are left out")
	}
	return nil
}

func (a *Agent) kernelMetrics() (*metrics.Kernel, error) {
	a.mu.RLock()
	k, used := a.state.kernel, a.state.file.Kernel != nil
	a.mu.RUnlock()
	if !used {
		return nil, nil
	}
	snapshot, err := k.Snapshot()
	return &snapshot, err
}

func (a *Agent) handDownMetrics() *metrics.HandDown {
	hand, _, err := a.handDown()
	if err != nil {
		return nil
	}
	c := hand.Counters()
	return &metrics.HandDown{
		Logs:     a.logMetrics(),
		Offences: labelled(c.Offences), HandedDown: labelled(c.HandedDown), Spared: labelled(c.Spared),
		Rules: c.Rules, MaxRules: c.MaxRules, Lost: c.Lost, Evicted: c.Evicted, Late: c.Late, Doubtful: a.nginx.Doubtful.Load(),
	}
}

func (a *Agent) logMetrics() (all []metrics.Log) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, l := range a.state.nginxLogs {
		all = append(all, metrics.Log{Path: l.path, Readable: l.state.Problem() == ""})
	}
	return all
}

// labelled returns counts by label, sorted.
func labelled[L ~string](counts map[L]uint64) []metrics.Count {
	var all []metrics.Count
	for _, label := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, metrics.Count{Label: string(label), N: counts[label]})
	}
	return all
}

func (a *Agent) adaptiveMetrics() *adaptive.State {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.state.adaptive == nil {
		return nil
	}
	s := a.state.adaptive.State()
	return &s
}

func (a *Agent) serverMetrics() []metrics.Server {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.state.proxy == nil {
		return nil
	}
	var all []metrics.Server
	for _, s := range a.state.proxy.Servers() {
		all = append(all, metrics.Server{
			Name: s.Name, Healthy: s.Healthy, InFlight: s.InFlight, Requests: s.Requests, Failures: s.Failures,
		})
	}
	return all
}

func (a *Agent) configMetrics() metrics.Config {
	a.mu.RLock()
	defer a.mu.RUnlock()
	r := a.state.read
	return metrics.Config{
		Successes: r.successes, Failures: r.failures, Failed: r.err != nil,
		Since: r.since, SHA256: r.sha256,
	}
}

func (a *Agent) listenerMetrics() []metrics.Listener {
	a.mu.RLock()
	defer a.mu.RUnlock()
	var all []metrics.Listener
	for _, f := range a.state.fronts {
		if s, counts := f.server.(interface{ Connections() (int, uint64) }); counts {
			open, accepted := s.Connections()
			all = append(all, metrics.Listener{Name: address(f.listener), Open: open, Accepted: accepted})
		}
	}
	return all
}

// storeMetrics returns nil without a redis section.
func (a *Agent) storeMetrics() *metrics.Store {
	a.mu.RLock()
	s := a.state.sharing
	a.mu.RUnlock()
	if s == nil {
		return nil
	}
	c := s.conn.State()
	counted := s.store.Counters()
	m := &metrics.Store{
		KnownRefusals: counted.RefusedLocally, FromBatch: counted.FromBatch, Batches: counted.BatchesTaken,
		Health: string(c.Health), RoundTrip: c.RoundTrip, InFlight: c.InFlight, Calls: c.Calls, RoundTrips: c.RoundTrips,
		Timeouts: c.Timeouts, Errors: c.Errors, Busy: c.Busy, LeftAlone: c.LeftAlone, Opened: c.Opened, Probes: c.Probes,
	}
	for _, z := range a.state.rules.live.Counters().Zones {
		if z.Shared != nil {
			m.Zones = append(m.Zones, metrics.StoreZone{Zone: z.Zone, SharedCounts: *z.Shared})
		}
	}
	return m
}

// fleetMetrics returns nil without a redis section. It asks nobody.
func (a *Agent) fleetMetrics() *metrics.Fleet {
	f := a.fleet.Load()
	if f == nil {
		return nil
	}
	a.mu.RLock()
	maxRules := a.state.member.config.MaxRules
	a.mu.RUnlock()
	s := f.Known()
	return &metrics.Fleet{
		Members: f.Members(), Seen: s.Seen, Rules: s.Rules, MaxRules: maxRules, Spared: s.Spared,
		Published: s.Published, Withheld: s.Withheld, Received: s.Received, Behind: s.Here.Behind, Delay: s.Here.Delay,
	}
}

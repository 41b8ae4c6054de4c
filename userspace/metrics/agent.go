package metrics

import (
	"runtime"

	"github.com/headgate/headgate/userspace/adaptive"
)

type agentFamilies struct {
	build, lostEvents                                                                            *family
	reloads, reloadOK, configSince, configInfo                                                   *family
	connections, accepted                                                                        *family
	healthy, inFlight, requests, failures                                                        *family
	factor, applied, signal, health, changes                                                     *family
	verified                                                                                     *family
	offences, handedDown, spared, rules, maxRules, late, doubtful, logs, lostOffences, forgotten *family
}

func newAgentFamilies() agentFamilies {
	return agentFamilies{
		build:      gauge("build_info", "1, with what is running as labels.", "version", "revision", "goversion"),
		lostEvents: counter("events_lost_total", "Events that a listener was too slow for."),

		reloads:     counter("config_reloads_total", "Times the configuration was read, the first included.", "result"),
		reloadOK:    gauge("config_last_reload_successful", "1 if the file as it is now is in force, 0 if it was refused."),
		configSince: gauge("config_last_reload_success_timestamp_seconds", "When what is in force was read, in seconds since 1970."),
		configInfo:  gauge("config_info", "1, with the SHA-256 of the file in force as label.", "sha256"),

		connections: gauge("listener_open_connections", "Connections that are open, by listener.", "listener"),
		accepted:    counter("listener_accepted_connections_total", "Connections that were accepted, by listener.", "listener"),

		healthy:  gauge("upstream_healthy", "1 if the server gets requests, 0 if it is left out.", "server"),
		inFlight: gauge("upstream_in_flight_requests", "Requests under way at the server.", "server"),
		requests: counter("upstream_requests_total", "Requests that were sent to the server.", "server"),
		failures: counter("upstream_failures_total", "Requests that the server answered with a 5xx or not at all.", "server"),

		factor:  gauge("adaptive_factor", "Factor on the rates that the backend's health asks for."),
		applied: gauge("adaptive_applied_factor", "Factor on the rates in force: 1 where the configuration says to observe only."),
		signal:  gauge("adaptive_signal_target_ratio", "Signal of the last interval, divided by its target: unhealthy above 1."),
		health:  gauge("adaptive_health", "1 for what the last interval said about the backend, 0 for all else.", "health"),
		changes: counter("adaptive_changes_total", "Times the factor was changed, by direction.", "direction"),

		verified: counter("verify_sources_total", "Times a source was to be verified as a request of it was allowed, by what became of that.", "result"),

		offences:     counter("handdown_offences_total", "Offences, by who found them.", "origin"),
		handedDown:   counter("handdown_sources_total", "Times a source was given a kernel rule, by its action.", "action"),
		spared:       counter("handdown_spared_total", "Offences of sources that no rule is made for, by why.", "reason"),
		rules:        gauge("handdown_rules", "Kernel rules of offenders in force."),
		maxRules:     gauge("handdown_max_rules", "Kernel rules of offenders that may be in force."),
		late:         counter("handdown_late_offences_total", "Offences of sources whose kernel rule was made or in force already."),
		doubtful:     counter("handdown_doubtful_log_records_total", "Refusals in a log of nginx that a client may have written itself, and that do not count."),
		logs:         gauge("handdown_log_readable", "1 if the log of nginx is read, 0 if it cannot be: its log line says why.", "log"),
		lostOffences: counter("handdown_lost_offences_total", "Offences that were not counted, for want of room."),
		forgotten:    counter("handdown_forgotten_sources_total", "Offenders that were forgotten for want of room."),
	}
}

func (f agentFamilies) all() []*family {
	return []*family{
		f.build, f.lostEvents, f.reloads, f.reloadOK, f.configSince, f.configInfo, f.connections, f.accepted,
		f.healthy, f.inFlight, f.requests, f.failures, f.factor, f.applied, f.signal, f.health, f.changes,
		f.verified, f.offences, f.handedDown, f.spared, f.rules, f.maxRules, f.late, f.doubtful, f.logs, f.lostOffences, f.forgotten,
	}
}

func (f agentFamilies) read(s scrape, from *Sources) {
	s.add(f.build, 1, from.Build.Version, from.Build.Revision, runtime.Version())
	with(from.LostEvents, func(n uint64) { s.count(f.lostEvents, n) })
	with(from.Config, func(c Config) { f.readConfig(s, c) })
	with(from.Listeners, func(all []Listener) { f.readListeners(s, all) })
	with(from.Servers, func(all []Server) { f.readServers(s, all) })
	with(from.Adaptive, func(a *adaptive.State) { f.readAdaptive(s, a) })
	with(from.Verify, func(v *Verify) { f.readVerify(s, v) })
	with(from.HandDown, func(h *HandDown) { f.readHandDown(s, h) })
}

// with gives use what a source returns, if there is one.
func with[T any](source func() T, use func(T)) {
	if source != nil {
		use(source())
	}
}

func (f agentFamilies) readConfig(s scrape, c Config) {
	s.count(f.reloads, c.Successes, "success")
	s.count(f.reloads, c.Failures, "failure")
	s.flag(f.reloadOK, !c.Failed)
	if !c.Since.IsZero() {
		s.add(f.configSince, float64(c.Since.UnixMilli())/1e3)
		s.add(f.configInfo, 1, c.SHA256)
	}
}

func (f agentFamilies) readListeners(s scrape, all []Listener) {
	for _, l := range all {
		s.add(f.connections, float64(l.Open), l.Name)
		s.count(f.accepted, l.Accepted, l.Name)
	}
}

func (f agentFamilies) readServers(s scrape, all []Server) {
	for _, v := range all {
		s.flag(f.healthy, v.Healthy, v.Name)
		s.add(f.inFlight, float64(v.InFlight), v.Name)
		s.count(f.requests, v.Requests, v.Name)
		s.count(f.failures, v.Failures, v.Name)
	}
}

func (f agentFamilies) readAdaptive(s scrape, a *adaptive.State) {
	if a == nil {
		return
	}
	s.add(f.factor, a.Factor)
	s.add(f.applied, a.Applied())
	if a.Target > 0 {
		s.add(f.signal, a.Signal/a.Target)
	}
	for _, h := range adaptive.Healths() {
		s.flag(f.health, h == a.Health, string(h))
	}
	s.count(f.changes, a.Raised, "up")
	s.count(f.changes, a.Lowered, "down")
}

func (f agentFamilies) readVerify(s scrape, v *Verify) {
	if v == nil {
		return
	}
	s.count(f.verified, v.Told, "told")
	s.count(f.verified, v.Lost, "lost")
	s.count(f.verified, v.Failed, "failed")
}

func (f agentFamilies) readHandDown(s scrape, h *HandDown) {
	if h == nil {
		return
	}
	for family, counts := range map[*family][]Count{f.offences: h.Offences, f.handedDown: h.HandedDown, f.spared: h.Spared} {
		for _, c := range counts {
			s.count(family, c.N, c.Label)
		}
	}
	s.add(f.rules, float64(h.Rules))
	s.add(f.maxRules, float64(h.MaxRules))
	s.count(f.late, h.Late)
	s.count(f.doubtful, h.Doubtful)
	for _, l := range h.Logs {
		s.flag(f.logs, l.Readable, l.Path)
	}
	s.count(f.lostOffences, h.Lost)
	s.count(f.forgotten, h.Evicted)
}

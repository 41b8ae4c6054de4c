package agent

import (
	"os"
	"time"

	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/gateway"
	"github.com/headgate/headgate/userspace/metrics"
)

var _ admin.Agent = (*Agent)(nil)

// Status implements admin.Agent.
func (a *Agent) Status() admin.Status {
	interfaces := a.interfaces() // the kernel is asked without the lock
	a.mu.RLock()
	defer a.mu.RUnlock()
	s := &a.state
	return admin.Status{
		Version:       a.options.Version,
		PID:           os.Getpid(),
		Started:       a.started,
		UptimeSeconds: time.Since(a.started).Seconds(),
		Draining:      s.ctx.Err() != nil,
		Config:        s.configStatus(a.options.Path),
		Listeners:     s.listeners(),
		Upstream:      s.servers(),
		Interfaces:    interfaces,
		HandDown:      s.file.HandDown != nil,
		NginxLogs:     s.logStatus(),
		Adaptive:      s.adaptiveStatus(),
	}
}

func (s *state) configStatus(path string) admin.ConfigStatus {
	c := admin.ConfigStatus{File: path, SHA256: s.read.sha256, LoadedAt: s.read.since}
	for _, w := range s.file.Warnings {
		c.Warnings = append(c.Warnings, w.Error())
	}
	if s.read.err != nil {
		failed := s.read.failedAt
		c.Error, c.FailedAt = s.read.err.Error(), &failed
	}
	return c
}

func (s *state) listeners() []admin.Listener {
	all := []admin.Listener{}
	for _, f := range s.fronts {
		serves := string(f.role)
		if f.role == tokenRole {
			serves = string(adminRole)
		}
		l := admin.Listener{
			Serves: serves, Network: f.listener.Network, Address: f.listener.Address, TLS: f.listener.TLS != nil,
		}
		if s, counts := f.server.(interface{ Requests() uint64 }); counts {
			l.Requests = s.Requests()
		}
		all = append(all, l)
	}
	return all
}

func (s *state) servers() []admin.Server {
	all := []admin.Server{}
	if s.proxy == nil {
		return all
	}
	for _, v := range s.proxy.Servers() {
		all = append(all, admin.Server{
			URL: v.Name, Healthy: v.Healthy, Health: s.healthOf(v), InFlight: int64(v.InFlight), Error: v.Error,
		})
	}
	return all
}

// healthOf says how a server is, as far as that is asked.
func (s *state) healthOf(v gateway.ServerState) string {
	switch {
	case !v.Healthy:
		return admin.LeftOut // also where requests alone have shown that
	case s.file.Upstream.Health.Path == "":
		return admin.NotAsked
	default:
		return admin.Healthy
	}
}

// interfaces returns those of the kernel section as they are now.
func (a *Agent) interfaces() []admin.Interface {
	a.mu.RLock()
	kernel, section := a.state.kernel, a.state.file.Kernel
	a.mu.RUnlock()
	all := []admin.Interface{}
	if section == nil {
		return all
	}
	seen, err := kernel.Interfaces()
	if err != nil {
		if _, ok := a.blind.Now(); ok {
			a.log.Warn("the interfaces cannot be looked at", "error", err)
		}
		for _, name := range section.Interfaces {
			all = append(all, admin.Interface{Name: name, State: admin.NotKnown})
		}
		return all
	}
	for _, i := range seen {
		all = append(all, admin.Interface{Name: i.Name, State: stateOf(i), Mode: i.Mode, Error: i.Problem})
	}
	return all
}

func stateOf(i metrics.Interface) string {
	switch {
	case i.Attached:
		return admin.Attached
	case i.Problem != "":
		return admin.Failed
	case i.Missing:
		return admin.Missing
	default:
		return admin.Detached
	}
}

func (s *state) logStatus() []admin.Log {
	all := []admin.Log{}
	for _, l := range s.nginxLogs {
		all = append(all, admin.Log{Path: l.path, Error: l.state.Problem()})
	}
	return all
}

func (s *state) adaptiveStatus() *admin.Adaptive {
	if s.adaptive == nil {
		return nil
	}
	c, now := s.file.Adaptive, s.adaptive.State()
	status := &admin.Adaptive{
		Observe: c.Observe, Signal: signalOf(c), Value: now.Signal, Target: now.Target,
		Factor: now.Factor, Floor: c.Floor, Ceiling: c.Ceiling,
	}
	if at := s.adaptedAt; !at.IsZero() {
		status.ChangedAt = &at
	}
	return status
}

// signalOf names what the backend's health is judged by.
func signalOf(c *config.Adaptive) string {
	switch {
	case c.Latency.Target > 0:
		return "latency"
	case c.Errors > 0:
		return "errors"
	default:
		return "in_flight"
	}
}

// Events implements admin.Agent.
func (a *Agent) Events() *event.Listener { return a.bus.Listen() }

// Kernel implements admin.Agent.
func (a *Agent) Kernel() admin.Kernel {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.state.file.Kernel == nil {
		return nil
	}
	return a.state.kernel
}

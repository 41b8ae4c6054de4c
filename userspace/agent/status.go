package agent

import (
	"os"
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
)

var _ admin.Agent = (*Agent)(nil)

// Status implements admin.Agent.
func (a *Agent) Status() admin.Status {
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
		Interfaces:    s.interfaces(),
		HandDown:      s.file.HandDown != nil,
		Adaptive:      s.adaptiveStatus(),
	}
}

func (s *state) configStatus(path string) admin.ConfigStatus {
	c := admin.ConfigStatus{File: path, SHA256: s.read.sha256, LoadedAt: s.read.since}
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
		all = append(all, admin.Listener{
			Serves: serves, Network: f.listener.Network, Address: f.listener.Address, TLS: f.listener.TLS != nil,
		})
	}
	return all
}

func (s *state) servers() []admin.Server {
	all := []admin.Server{}
	if s.proxy == nil {
		return all
	}
	for _, v := range s.proxy.Servers() {
		all = append(all, admin.Server{URL: v.Name, Healthy: v.Healthy, InFlight: int64(v.InFlight)})
	}
	return all
}

func (s *state) interfaces() []string {
	if s.file.Kernel == nil {
		return []string{}
	}
	return slices.Clone(s.file.Kernel.Interfaces)
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

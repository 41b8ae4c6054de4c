package agent

import (
	"context"
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/adaptive"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/gateway"
)

// prepareProxy makes the proxy of the file, if there is to be one and it is not there or trusts others.
func (a *Agent) prepareProxy(c *change) error {
	if c.file.Upstream == nil {
		return nil
	}
	if a.state.proxy != nil && sameTrust(a.state.file, c.file) {
		c.proxy = a.state.proxy
		return nil
	}
	ip := c.file.HTTP.ClientIP
	var err error
	c.proxy, err = gateway.NewProxy(*c.file.Upstream, gateway.ProxyOptions{
		TrustedProxies: ip.TrustedProxies, TrustUnix: ip.TrustUnix, Log: a.log,
		Observe: a.observe, Changed: a.serverChanged, Met: a.protectsMore,
	})
	return err
}

func sameTrust(a, b *config.File) bool {
	x, y := a.HTTP.ClientIP, b.HTTP.ClientIP
	return slices.Equal(x.TrustedProxies, y.TrustedProxies) && x.TrustUnix == y.TrustUnix
}

// settleProxy makes requests from now on go to the servers of the file.
func (a *Agent) settleProxy(c *change) {
	s := &a.state
	switch c.proxy {
	case nil:
		s.checking.end()
	case s.proxy:
		if err := s.proxy.Replace(*c.file.Upstream); err != nil {
			a.log.Error("the servers were not changed", "error", err) // config.Parse would have said so
		}
	default:
		s.checking.begin(s.ctx, a.do, c.proxy.Run)
	}
	s.proxy = c.proxy
}

// observe counts an answer of the backend.
func (a *Agent) observe(status int, latency time.Duration) {
	if status != gateway.StatusClientGone {
		a.metrics.ObserveUpstream(status, latency)
	}
	if c := a.controller.Load(); c != nil {
		c.Observe(status, latency)
	}
}

// protectsMore has rules of a fleet given up that are against what is protected by now.
func (a *Agent) protectsMore() {
	if f := a.fleet.Load(); f != nil {
		f.AskAgain()
	}
}

// serverChanged tells of a server that was left out or taken back.
func (a *Agent) serverChanged(server string, healthy bool) {
	reason := "left out"
	if healthy {
		reason = "taken back"
	}
	a.bus.Publish(event.Event{Time: time.Now(), Kind: event.Upstream, Name: server, Reason: reason})
}

// settleAdaptive begins to tune, goes by other settings, or ends it.
func (a *Agent) settleAdaptive(c *change) {
	s := &a.state
	settings := c.file.Adaptive
	if settings == nil || c.proxy == nil {
		s.tuning.end()
		s.adaptive = nil
		a.controller.Store(nil)
		return
	}
	if s.adaptive == nil {
		s.adaptive = adaptive.New(*settings, adaptive.Options{Waiting: a.waiting, Now: a.clock()})
	} else {
		s.adaptive.SetConfig(*settings)
	}
	controller := s.adaptive
	a.controller.Store(controller)
	s.tuning.begin(s.ctx, a.do, func(ctx context.Context) { a.tune(ctx, controller, settings.Interval) })
}

// waiting returns how many requests wait for the backend's answer to begin.
func (a *Agent) waiting() int {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.state.proxy == nil {
		return 0
	}
	return a.state.proxy.Waiting()
}

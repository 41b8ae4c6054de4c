package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/handdown"
	"github.com/headgate/headgate/userspace/nginxlog"
	"github.com/headgate/headgate/userspace/ruleset"
)

// patience is how long a report waits for what becomes of it.
const patience = 5 * time.Second

// settleHandDown begins to hand offenders down, goes by other settings, or ends it.
func (a *Agent) settleHandDown(file *config.File) {
	s := &a.state
	c := file.HandDown
	switch {
	case c == nil:
		s.handing.end()
		s.logs.end()
		s.hand, s.nginxLogs = nil, nil
	case s.hand == nil:
		s.hand = handdown.New(handdown.Options{
			Config: *c, Kernel: s.kernel, TrustedProxies: trusted(file),
			Local: a.local.is, Near: a.local.near, Log: a.log, Publish: a.bus.Publish, Share: a.share,
		})
		s.handing.begin(s.ctx, a.do, s.hand.Run)
	default:
		s.hand.SetConfig(*c, trusted(file))
	}
	a.watchRefusals(s.hand)
	if c != nil && !slices.EqualFunc(c.NginxLogs, s.nginxLogs, func(path string, l nginxLog) bool { return path == l.path }) {
		a.readLogs(c.NginxLogs)
	}
}

// nginxLog is an error log of nginx that is followed.
type nginxLog struct {
	path  string
	state *nginxlog.State
}

// trusted returns all whose word about a client's address is believed.
func trusted(file *config.File) []netip.Prefix {
	all := slices.Clone(file.HTTP.ClientIP.TrustedProxies)
	for _, l := range file.Listeners() {
		all = append(all, l.ProxyProtocol...)
	}
	if file.Auth != nil {
		all = append(all, file.Auth.Gateways...)
	}
	return all
}

// watchRefusals shows refused requests to who hands down, and some of them to who listens.
func (a *Agent) watchRefusals(hand *handdown.HandDown) {
	a.state.decider.watch(func(r *ruleset.Request, d *ruleset.Decision, now time.Duration) {
		if hand != nil {
			hand.Observe(r, d)
		}
		if n := a.refusals.sample(now); n > 0 {
			a.bus.Publish(event.Event{
				Time: time.Now(), Kind: event.Refused, Origin: "http", Source: prefixOf(d.Client), Rule: d.Rule, Zone: d.Zone, Count: n,
			})
		}
	})
}

// prefixOf returns the prefix of one address; an invalid one for none.
func prefixOf(addr netip.Addr) netip.Prefix {
	if !addr.IsValid() {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(addr, addr.BitLen())
}

// readLogs follows nginx's error logs.
func (a *Agent) readLogs(paths []string) {
	s := &a.state
	hand := s.hand
	var logs []nginxLog
	for _, path := range paths {
		logs = append(logs, nginxLog{path, new(nginxlog.State)})
	}
	s.nginxLogs = logs
	s.logs.begin(s.ctx, a.do, func(ctx context.Context) {
		for _, l := range logs {
			a.do(func() { a.readLog(ctx, l, hand) })
		}
	})
}

// readLog follows one until ctx ends.
func (a *Agent) readLog(ctx context.Context, l nginxLog, hand *handdown.HandDown) {
	o := nginxlog.Options{Log: a.log, Counters: &a.nginx, State: l.state}
	err := nginxlog.Follow(ctx, l.path, o, func(o nginxlog.Offence) {
		hand.Offend(handdown.Offence{Addr: o.Client, Origin: handdown.Nginx, Zone: o.Zone})
	})
	if err != nil && ctx.Err() == nil {
		a.log.Error("a log of nginx is no longer read", "path", l.path, "error", err)
	}
}

// handDown returns who hands down, and what becomes of offenders.
func (a *Agent) handDown() (*handdown.HandDown, config.Action, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.state.hand == nil {
		return nil, "", fmt.Errorf("hand-down is %w: the configuration has no handdown section", admin.ErrOff)
	}
	return a.state.hand, a.state.file.HandDown.Action, nil
}

// Offenders implements admin.Agent.
func (a *Agent) Offenders(n int) ([]admin.Offender, error) {
	hand, action, err := a.handDown()
	if err != nil {
		return nil, err
	}
	all := []admin.Offender{}
	for _, o := range hand.Top(n) {
		view := admin.Offender{Source: o.Source, Offences: o.Offences, Strikes: o.Strikes, Origin: string(o.Origin), Spared: string(o.Spared)}
		if o.Left > 0 {
			view.Action, view.ExpiresSeconds = string(action), o.Left.Seconds()
		}
		all = append(all, view)
	}
	return all, nil
}

// Report implements admin.Agent.
func (a *Agent) Report(r admin.Report) (admin.Outcome, error) {
	hand, _, err := a.handDown()
	if err != nil {
		return admin.Outcome{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	o, err := hand.Report(ctx, r.Prefix, handdown.Report, r.Reason, r.Count)
	switch {
	case errors.Is(err, handdown.ErrWaits), err != nil && ctx.Err() != nil:
		return admin.Outcome{}, err
	case err != nil:
		return admin.Outcome{}, admin.Refusal{Err: err}
	}
	return admin.Outcome{
		Prefix: o.Prefix, Outcome: string(o.Result), Reason: o.Reason, Offences: o.Offences, After: o.After,
		WithinSeconds: o.Within.Seconds(), ForSeconds: o.For.Seconds(), DryRun: o.DryRun,
	}, nil
}

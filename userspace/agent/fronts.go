package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/gateway"
	"github.com/headgate/headgate/userspace/gateway/envoy"
	"github.com/headgate/headgate/userspace/httplimit"
)

// wanted returns the fronts of a file, none of which listens yet.
func wanted(file *config.File) (all []*front) {
	add := func(r role, listeners ...config.Listener) {
		for _, l := range listeners {
			all = append(all, &front{role: r, listener: l, version: versionOf(file)})
		}
	}
	add(proxyRole, file.Listen...)
	if auth := file.Auth; auth != nil {
		add(authRole, auth.Listen...)
		add(grpcRole, auth.GRPC...)
	}
	if file.Metrics != nil {
		add(metricsRole, file.Metrics.Listen)
	}
	if admin := file.Admin; admin != nil {
		if admin.Socket != "" {
			add(adminRole, config.Listener{Network: config.NetworkUnix, Address: admin.Socket, Access: admin.Access})
		}
		if admin.Listen != nil {
			add(tokenRole, *admin.Listen)
		}
	}
	return all
}

// versionOf returns what a server depends on, beside its listener, that it cannot change while it serves.
func versionOf(file *config.File) string {
	text, err := json.Marshal(file.Timeouts)
	if err != nil {
		return err.Error() // numbers always can be
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// prepareFronts opens what is to be listened on. Fronts that do what they should already are kept.
func (a *Agent) prepareFronts(c *change) error {
	all := wanted(c.file)
	for _, f := range all {
		if kept := a.state.front(f); kept != nil {
			c.fronts = append(c.fronts, kept)
			continue
		}
		if err := a.prepareFront(c, f, all); err != nil {
			return a.sinceGivenUp(err)
		}
		c.fronts = append(c.fronts, f)
	}
	return nil
}

// front returns the front that does what f does, if there is one.
func (s *state) front(f *front) *front {
	for _, g := range s.fronts {
		if g.same(f) {
			return g
		}
	}
	return nil
}

// sinceGivenUp adds to an error of privilege that the agent had more when it started.
func (a *Agent) sinceGivenUp(err error) error {
	if a.state.file == nil || a.options.Started == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w; the agent gave up its privileges after the start: restart it", err)
}

// prepareFront opens what f, one of all that the file wants, listens on.
func (a *Agent) prepareFront(c *change, f *front, all []*front) error {
	s := &a.state
	dup, opened, err := s.sockets.get(f.listener, all, gateway.ListenOptions{Sockets: a.options.Sockets, Log: a.log})
	if opened {
		c.undo = append(c.undo, func() { s.sockets.close(f.listener) })
	}
	if err != nil {
		return err
	}
	f.on = dup
	c.undo = append(c.undo, func() { f.on.Close() })
	if !opened && s.access(f.listener) != f.listener.Access {
		if err := c.permit(f.listener); err != nil {
			return err
		}
	}
	wrapped, err := gateway.Wrap(dup, f.listener, gateway.ListenOptions{HeaderTimeout: c.file.Timeouts.Header, Log: a.log})
	if err != nil {
		return err
	}
	f.on = wrapped
	f.server = a.server(f.role, c.file)
	return nil
}

// access returns who may connect to a socket that is open already, as configured.
func (s *state) access(l config.Listener) config.Access {
	for _, f := range s.fronts {
		if address(f.listener) == address(l) {
			return f.listener.Access
		}
	}
	return config.Access{}
}

// permit lets those of a listener connect to a socket that is open already.
func (c *change) permit(l config.Listener) error {
	if l.Network != config.NetworkUnix {
		return nil
	}
	undo, err := gateway.Permit(l.Address, l.Access)
	if err != nil {
		return fmt.Errorf("%s: %w", address(l), err)
	}
	c.undo = append(c.undo, undo)
	return nil
}

// server returns what serves a role.
func (a *Agent) server(r role, file *config.File) server {
	if r == grpcRole {
		return envoy.NewServer(&a.state.decider, a.envoyOptions(file))
	}
	return gateway.NewServer(gateway.ServerOptions{
		Name: string(r), Handler: a.state.handler(r), Timeouts: file.Timeouts, Log: a.log,
	})
}

// handler returns what serves a role, whatever the configuration.
func (s *state) handler(r role) *handler {
	if s.handlers == nil {
		s.handlers = make(map[role]*handler)
	}
	if s.handlers[r] == nil {
		s.handlers[r] = new(handler)
		s.handlers[r].set(http.NotFoundHandler())
	}
	return s.handlers[r]
}

func (a *Agent) limitOptions(file *config.File) httplimit.Options {
	return httplimit.Options{Headers: file.HTTP.Headers, Clock: a.clock}
}

func (a *Agent) envoyOptions(file *config.File) envoy.Options {
	return envoy.Options{
		Gateways: file.Auth.Gateways, Domain: file.Auth.Domain, HTTP: a.limitOptions(file), Log: a.log,
	}
}

// settleHandlers makes all requests from now on be answered by a file.
func (a *Agent) settleHandlers(c *change) {
	s, file := &a.state, c.file
	limited := a.limitOptions(file)
	if s.proxy != nil {
		s.handler(proxyRole).set(httplimit.New(&s.decider, limited)(s.proxy))
	}
	if auth := file.Auth; auth != nil {
		s.handler(authRole).set(gateway.NewAuth(&s.decider, gateway.AuthOptions{
			Limit: limited, Gateways: auth.Gateways, Log: a.log,
		}))
	}
	for _, f := range c.fronts {
		if e, ok := f.server.(*envoy.Server); ok {
			e.Replace(a.envoyOptions(file))
		}
	}
	s.handler(metricsRole).set(a.metricsHandler())
	if file.Admin == nil {
		return
	}
	o := admin.Options{Pprof: file.Admin.Pprof, Log: a.log, Closing: a.closing}
	s.handler(adminRole).set(admin.NewHandler(a, o))
	o.TokenFile = file.Admin.TokenFile
	s.handler(tokenRole).set(admin.NewHandler(a, o))
}

// settleFronts serves the fronts that are new, and drains those that are not wanted any more.
func (a *Agent) settleFronts(fronts []*front, before *config.File) {
	s := &a.state
	divide(fronts, gateway.Files())
	kept := make(map[*front]bool)
	for _, f := range fronts {
		kept[f] = true
		if f.ended == nil {
			f.serve(a.log)
		}
	}
	var gone []*front
	for _, f := range s.fronts {
		if !kept[f] {
			gone = append(gone, f)
		}
	}
	s.fronts = fronts
	s.sockets.keep(fronts)
	for _, f := range gone { // by the time outs that they were made with
		a.do(func() { a.retire(f, before.Timeouts) })
	}
}

// retire ends a front that is not wanted any more.
func (a *Agent) retire(f *front, t config.Timeouts) {
	ctx, cancel := context.WithTimeout(a.state.ctx, t.Idle)
	f.retire(ctx)
	cancel()
	ctx, cancel = context.WithTimeout(context.Background(), t.Drain)
	defer cancel()
	defer context.AfterFunc(a.state.ctx, func() { time.AfterFunc(a.drain(), cancel) })() // the agent's end waits no longer than it says
	if err := f.shutdown(ctx); err != nil {
		a.log.Warn("requests of a front that is gone were cut off", "error", err)
	}
}

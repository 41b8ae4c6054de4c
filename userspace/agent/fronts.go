package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"

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
			all = append(all, &front{role: r, listener: l, version: versionOf(r, file)})
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
			add(adminRole, config.Listener{Network: "unix", Address: admin.Socket})
		}
		if admin.Listen != nil {
			add(tokenRole, *admin.Listen)
		}
	}
	return all
}

// versionOf returns what a server depends on, beside its listener, that it cannot change while it serves.
func versionOf(r role, file *config.File) string {
	parts := []any{file.Timeouts}
	if r == adminRole {
		parts = append(parts, file.Admin.Mode)
	}
	text, err := json.Marshal(parts)
	if err != nil {
		return err.Error() // numbers always can be
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// prepareFronts opens what is to be listened on. Fronts that do what they should already are kept.
func (a *Agent) prepareFronts(c *change) error {
	for _, f := range wanted(c.file) {
		if kept := a.state.front(f); kept != nil {
			c.fronts = append(c.fronts, kept)
			continue
		}
		if err := a.prepareFront(c, f); err != nil {
			return err
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

func (a *Agent) prepareFront(c *change, f *front) error {
	s, mode := &a.state, modeOf(f, c.file)
	dup, opened, err := s.sockets.get(f.listener, gateway.ListenOptions{Sockets: a.options.Sockets, Mode: mode, Log: a.log})
	if opened {
		c.undo = append(c.undo, func() { s.sockets.close(f.listener) })
	}
	if err != nil {
		return err
	}
	f.on = dup
	c.undo = append(c.undo, func() { f.on.Close() })
	if mode != 0 && !opened {
		if err := c.chmod(f.listener.Address, mode); err != nil {
			return err
		}
	}
	if f.on, err = gateway.Wrap(dup, f.listener, gateway.ListenOptions{HeaderTimeout: c.file.Timeouts.Header, Log: a.log}); err != nil {
		return err
	}
	f.server = a.server(f.role, c.file)
	return nil
}

// chmod changes the mode of the file of a socket that is open already.
func (c *change) chmod(path string, mode fs.FileMode) error {
	before, err := os.Lstat(path)
	if err != nil {
		return err
	}
	c.undo = append(c.undo, func() { _ = os.Chmod(path, before.Mode().Perm()) })
	return os.Chmod(path, mode)
}

// modeOf returns the mode of the file of a unix socket; 0 for the usual one.
func modeOf(f *front, file *config.File) fs.FileMode {
	if f.role == adminRole {
		return fs.FileMode(file.Admin.Mode)
	}
	return 0
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
	if err := f.shutdown(ctx); err != nil {
		a.log.Warn("requests of a front that is gone were cut off", "error", err)
	}
}

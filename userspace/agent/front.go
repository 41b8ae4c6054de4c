package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/gateway"
)

// role is what a listener is for.
type role string

const (
	proxyRole   role = "proxy"
	authRole    role = "auth"
	grpcRole    role = "grpc"
	metricsRole role = "metrics"
	adminRole   role = "admin"
	tokenRole   role = "admin with token"
)

// server serves one listener until it is shut down.
type server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}

// front is a server that listens, or is about to.
type front struct {
	role     role
	listener config.Listener
	// version tells apart servers for one listener that are not the same.
	version string
	server  server
	on      net.Listener // a duplicate of the socket, with TLS around it
	ended   chan struct{}
}

// same reports whether g does what f does.
func (f *front) same(g *front) bool {
	return f.role == g.role && f.version == g.version && equalListeners(f.listener, g.listener)
}

func equalListeners(a, b config.Listener) bool {
	sameTLS := a.TLS == b.TLS || a.TLS != nil && b.TLS != nil && *a.TLS == *b.TLS
	return address(a) == address(b) && a.Access == b.Access && sameTLS && slices.Equal(a.ProxyProtocol, b.ProxyProtocol)
}

// address returns what tells sockets apart.
func address(l config.Listener) string { return l.Network + " " + l.Address }

// serve serves in a goroutine of its own.
func (f *front) serve(log *slog.Logger) {
	f.ended = make(chan struct{})
	log = log.With("front", string(f.role), "address", address(f.listener))
	log.Info("listening")
	go func() {
		defer close(f.ended)
		if err := f.server.Serve(f.on); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			log.Error("a front ended", "error", err)
		}
	}()
}

// retire lets clients go elsewhere until ctx ends, if the server can.
func (f *front) retire(ctx context.Context) {
	if s, can := f.server.(interface{ Retire(context.Context) }); can {
		s.Retire(ctx)
	}
}

// shutdown lets requests under way end until ctx does, and closes what is left then.
func (f *front) shutdown(ctx context.Context) error {
	err := f.server.Shutdown(ctx)
	<-f.ended
	if err != nil {
		return fmt.Errorf("drain %s on %s: %w", f.role, address(f.listener), err)
	}
	return nil
}

// sockets are what is listened on, by address, each open until no front needs it any more.
type sockets struct{ open map[string]net.Listener }

// get returns a duplicate of the socket for l, which is opened if it is not; opened says that. The caller closes the
// duplicate. Sockets that none of wanted needs may be in the way.
func (s *sockets) get(l config.Listener, wanted []*front, o gateway.ListenOptions) (dup net.Listener, opened bool, err error) {
	base, is := s.open[address(l)]
	if !is {
		base, err = gateway.Open(l, o)
		if errors.Is(err, syscall.EADDRINUSE) {
			if leaving := s.leaving(wanted); len(leaving) > 0 {
				base, err = gateway.OpenBeside(l, leaving, o)
			}
		}
		if err != nil {
			return nil, false, err
		}
		if s.open == nil {
			s.open = make(map[string]net.Listener)
		}
		s.open[address(l)] = base
	}
	dup, err = gateway.Dup(base)
	return dup, !is, err
}

// close closes the socket for l.
func (s *sockets) close(l config.Listener) {
	if base, is := s.open[address(l)]; is {
		base.Close()
		delete(s.open, address(l))
	}
}

// addresses returns where fronts listen.
func addresses(fronts []*front) map[string]bool {
	all := make(map[string]bool)
	for _, f := range fronts {
		all[address(f.listener)] = true
	}
	return all
}

// leaving returns the sockets that none of fronts needs.
func (s *sockets) leaving(fronts []*front) (all []net.Listener) {
	wanted := addresses(fronts)
	for name, l := range s.open {
		if !wanted[name] {
			all = append(all, l)
		}
	}
	return all
}

// keep closes all sockets but those of fronts.
func (s *sockets) keep(fronts []*front) {
	wanted := addresses(fronts)
	for name, l := range s.open {
		if !wanted[name] {
			l.Close()
			delete(s.open, name)
		}
	}
}

// handler is a http.Handler that is replaced while it serves: requests under way end with the one that they began with.
type handler struct{ now atomic.Pointer[http.Handler] }

func (h *handler) set(to http.Handler) { h.now.Store(&to) }

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*h.now.Load()).ServeHTTP(w, r) }

package gateway

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pires/go-proxyproto"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/gateway/internal/peers"
)

// ServerOptions are what a Server is made of.
type ServerOptions struct {
	// Name is the server's in the log: "proxy", "auth".
	Name    string
	Handler http.Handler
	// Timeouts must all be above 0. Drain is not looked at: it is the context of Shutdown.
	Timeouts config.Timeouts
	Log      *slog.Logger // slog.Default if nil
	// MaxConns bounds the connections, tunnels as of websockets included; by default half of Files, since a request
	// that is passed on needs two, which is too much where several servers share them. Beyond it the connection that has waited longest for a request
	// makes room for a new one; if none does, the new one is closed.
	MaxConns int
	// MaxHeaderBytes bounds a request's header; 64 KiB by default.
	MaxHeaderBytes int
	// MaxStreams bounds the requests that a connection of HTTP/2 has at a time; 100 by default.
	MaxStreams int
}

// What applies where ServerOptions say nothing.
const (
	DefaultMaxHeaderBytes = 64 << 10
	DefaultMaxStreams     = 100
)

// Server serves HTTP/1.1, and HTTP/2 with TLS or prior knowledge, on any number of listeners. All methods may be
// called at the same time.
type Server struct {
	timeouts config.Timeouts
	handler  http.Handler
	tunnels  tunnels
	conns    *conns
	census   census
	server   http.Server

	requests atomic.Uint64
	retired  atomic.Bool

	mu        sync.Mutex
	listeners []net.Listener
	accepting sync.WaitGroup // on listeners
	closed    bool
}

// NewServer returns a server that serves nothing yet.
func NewServer(o ServerOptions) *Server {
	log := cmp.Or(o.Log, slog.Default()).With("server", o.Name)
	s := &Server{timeouts: o.Timeouts, handler: o.Handler}
	s.tunnels.idle = o.Timeouts.Tunnel
	s.conns = newConns(cmp.Or(o.MaxConns, Files()/2), o.Timeouts.Write, &s.tunnels, log)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	s.server = http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: o.Timeouts.Header,
		IdleTimeout:       o.Timeouts.Idle,
		MaxHeaderBytes:    cmp.Or(o.MaxHeaderBytes, DefaultMaxHeaderBytes),
		ErrorLog:          newErrorLog(log),
		ConnContext:       s.connContext,
		ConnState:         s.followConn,
		Protocols:         protocols,
		// Else net/http answers OPTIONS * itself, and no limit sees it.
		DisableGeneralOptionsHandler: true,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: cmp.Or(o.MaxStreams, DefaultMaxStreams),
			SendPingTimeout:      o.Timeouts.Idle,
			WriteByteTimeout:     o.Timeouts.Write,
		},
	}
	return s
}

// Connections returns how many connections are open, tunnels included, and how many were accepted so far.
func (s *Server) Connections() (open int, accepted uint64) {
	open, _, accepted = s.census.counts()
	return open + s.tunnels.len(), accepted
}

// Requests returns how many requests have come so far.
func (s *Server) Requests() uint64 { return s.requests.Load() }

// SetMaxConns changes ServerOptions.MaxConns to n, at least 1. Where more are open, they stay until the next one comes.
func (s *Server) SetMaxConns(n int) { s.conns.bound(n) }

// connContext is http.Server.ConnContext.
func (s *Server) connContext(ctx context.Context, conn net.Conn) context.Context {
	return s.conns.withPlace(withConn(ctx, conn), conn)
}

// followConn is http.Server.ConnState.
func (s *Server) followConn(conn net.Conn, state http.ConnState) {
	s.census.follow(conn, state)
	s.conns.follow(conn, state)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	if r.ProtoMajor == 1 && s.retired.Load() {
		w.Header().Set("Connection", "close")
	}
	w, g := guarded(w, r, s.timeouts.Read, s.timeouts.Write, &s.tunnels)
	if g != nil {
		defer g.end()
		if len(r.Header["Upgrade"]) > 0 {
			r = g.cancelable(r)
		}
	}
	s.handler.ServeHTTP(w, r)
}

// Serve serves what connects to l, which is closed in the end. It returns nil after Shutdown or Close.
func (s *Server) Serve(l net.Listener) error {
	if !s.add(l) {
		return l.Close()
	}
	defer s.accepting.Done()
	err := s.server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) || s.isClosed() && errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// add notes a listener to close, unless that has happened.
func (s *Server) add(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.listeners = append(s.listeners, l)
		s.accepting.Add(1)
	}
	return !s.closed
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// stopListening closes the listeners.
func (s *Server) stopListening() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, l := range s.listeners {
		_ = l.Close() // there is nothing to lose
	}
	s.listeners = nil
}

// settle waits until all connections are known that were accepted before stopListening: of one that was a moment ago net/http has
// yet to say so.
func (s *Server) settle(ctx context.Context) {
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		s.accepting.Wait()
	}()
	select {
	case <-settled:
	case <-ctx.Done():
	}
}

// Shutdown takes no more connections and waits until the requests under way have ended, tunnels included, or ctx
// has; then it closes what is left, and returns the error of ctx. Clients of HTTP/2 are told to go away, and
// those of HTTP/1 with the next response.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopListening()
	s.settle(ctx)
	s.server.SetKeepAlivesEnabled(false)
	s.awaitFirstRequests(ctx)
	err := unlessClosed(s.server.Shutdown(ctx))
	if waitErr := s.tunnels.wait(ctx); err == nil {
		err = waitErr
	}
	if err != nil {
		_ = s.Close() // what Shutdown returned says more
	}
	return err
}

// Retire takes no more connections, and serves those that there are until ctx ends: those of HTTP/1 end with the
// next response, or when they have been idle for too long. So no request is lost, which Shutdown cannot promise: it closes
// idle connections while their clients may be about to use them. The caller calls Shutdown in the end.
func (s *Server) Retire(ctx context.Context) {
	s.retired.Store(true)
	s.stopListening()
	s.settle(ctx)
	for {
		if open, _ := s.Connections(); open == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retiring):
		}
	}
}

// retiring is how often it is looked whether connections have ended.
const retiring = 20 * time.Millisecond

// firstRequest is how long a connection that is there when a server shuts down may take to send something.
const firstRequest = time.Second

// awaitFirstRequests waits until all connections have sent something, as http.Server.Shutdown answers no
// request whose beginning it has not read before: the connection would be closed without a word.
func (s *Server) awaitFirstRequests(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, firstRequest)
	defer cancel()
	for {
		if _, silent, _ := s.census.counts(); silent == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// Close ends all connections at once.
func (s *Server) Close() error {
	defer s.tunnels.close()
	s.stopListening()
	return unlessClosed(s.server.Close())
}

// unlessClosed returns err, but not that of a listener which stopListening has closed before net/http does.
func unlessClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// withConn tells requests whose peer a PROXY protocol header told who their connection is from.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	p, ok := conn.(*proxyproto.Conn)
	if !ok {
		return ctx
	}
	// Not RemoteAddr of p, which waits for the header.
	return clientip.WithConn(ctx, peers.Addr(p.Raw().RemoteAddr()))
}

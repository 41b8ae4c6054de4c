package envoy

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/headgate/headgate/userspace/ruleset"
)

// Rules decide about requests, and say what they would decide: a ruleset.Set or a ruleset.Live.
type Rules interface {
	ruleset.Decider
	// Explain is ruleset.Set.Explain.
	Explain(r *ruleset.Request, now time.Duration) *ruleset.Decision
}

// Server answers both services and the health service of gRPC, which knows the names of both and the empty one. All
// methods may be called at the same time.
type Server struct {
	rules   Rules
	clock   func() time.Duration
	options atomic.Pointer[Options]
	grpc    *grpc.Server
	health  *health.Server
	counts  counts
	checks  sync.Pool // of *check
	limits  sync.Pool // of *limits

	closing context.Context // ends when Shutdown begins
	close   context.CancelFunc
}

// NewServer returns a server that decides by rules.
func NewServer(rules Rules, o Options) *Server {
	s := &Server{rules: rules, clock: o.HTTP.Clock, health: health.NewServer()}
	s.checks.New = func() any { return new(check) }
	s.limits.New = func() any { return new(limits) }
	if s.clock == nil {
		s.clock = ownClock()
	}
	s.Replace(o)
	s.closing, s.close = context.WithCancel(context.Background())
	s.grpc = grpc.NewServer(append(bounds(), grpc.InTapHandle(s.admit), grpc.ForceServerCodecV2(newCodec()),
		grpc.UnaryInterceptor(s.surviving), grpc.StreamInterceptor(s.untilClosing))...)
	s.grpc.RegisterService(s.authorization(), nil)
	s.grpc.RegisterService(s.rateLimits(), nil)
	healthv1.RegisterHealthServer(s.grpc, s.health)
	for name := range s.grpc.GetServiceInfo() {
		s.health.SetServingStatus(name, healthv1.HealthCheckResponse_SERVING)
	}
	return s
}

// Replace makes all questions from now on be answered by o. The clock stays.
func (s *Server) Replace(o Options) { s.options.Store(o.complete(s.clock)) }

// Serve answers on l until Shutdown, and then returns nil. It closes l. It may be called for several listeners. Of peers that
// may not ask, which see whether the server is healthy, it keeps few connections.
func (s *Server) Serve(l net.Listener) error {
	err := s.grpc.Serve(&entrance{Listener: l, server: s})
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

// Shutdown closes the listeners, says that the server is not healthy any more, and waits for the questions that are being
// answered. When ctx ends before, it ends those with an error and returns ctx's.
func (s *Server) Shutdown(ctx context.Context) error {
	s.health.Shutdown()
	s.close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.grpc.GracefulStop()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		s.grpc.Stop()
		<-done
		return ctx.Err()
	}
}

// untilClosing ends streams, which are those of who watches the server's health, when Shutdown begins: they
// would not end by themselves.
func (s *Server) untilClosing(srv any, stream grpc.ServerStream, about *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer s.survive(about.FullMethod, &err)
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	return next(srv, endingStream{stream, ctx})
}

// endingStream is a stream whose context ends earlier.
type endingStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s endingStream) Context() context.Context { return s.ctx }

// wait waits for delay, or returns an error when ctx ends before.
func wait(ctx context.Context, delay time.Duration) error {
	if delay <= 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return givenUp(ctx)
	}
}

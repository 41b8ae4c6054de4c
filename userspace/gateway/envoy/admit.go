package envoy

import (
	"context"
	"net"
	"net/netip"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/headgate/headgate/userspace/gateway/internal/peers"
)

// admit lets gateways ask, and everybody else only whether the server is healthy. It is called before a question is read,
// so that others cannot make the server read anything large.
func (s *Server) admit(ctx context.Context, about *tap.Info) (context.Context, error) {
	o := s.options.Load()
	from, ok := peer.FromContext(ctx)
	if ok && o.admit(from.Addr) || about.FullMethodName == healthv1.Health_Check_FullMethodName {
		return ctx, nil
	}
	s.counts.stranger.Add(1)
	name := "an unknown peer"
	if ok {
		name = from.Addr.String()
	}
	if times, ok := s.counts.sayStranger.Now(); ok {
		o.Log.Warn("a peer that is no gateway asked, and was refused; if it is one, add it to auth.gateways",
			"peer", name, "method", about.FullMethodName, "times", times)
	}
	return ctx, status.Error(codes.PermissionDenied, "this peer is not among auth.gateways")
}

// admit reports whether a peer may ask.
func (o *Options) admit(a net.Addr) bool { return isUnix(a) || peers.Among(o.Gateways, peers.Addr(a)) }

func isUnix(a net.Addr) bool {
	return a != nil && (a.Network() == "unix" || a.Network() == "unixpacket")
}

// asker returns the address that a question comes from, invalid for a unix socket.
func asker(ctx context.Context) netip.Addr {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return netip.Addr{}
	}
	return peers.Addr(from.Addr)
}

// givenUp returns the error of a question whose context has ended.
func givenUp(ctx context.Context) error { return status.FromContextError(ctx.Err()).Err() }

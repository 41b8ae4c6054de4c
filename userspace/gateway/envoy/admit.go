package envoy

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/headgate/headgate/userspace/clientip"
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
	s.counts.sayStranger.say(s.clock(), func(missed uint64) {
		o.Log.Warn("a peer that is no gateway asked, and was refused; if it is one, add it to auth.gateways",
			"peer", name, "method", about.FullMethodName, "not_logged", missed)
	})
	return ctx, status.Error(codes.PermissionDenied, "this peer is not among auth.gateways")
}

// admit reports whether a peer may ask.
func (o *Options) admit(a net.Addr) bool { return isUnix(a) || isGateway(o.Gateways, address(a)) }

func isUnix(a net.Addr) bool {
	return a != nil && (a.Network() == "unix" || a.Network() == "unixpacket")
}

func isGateway(gateways []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(gateways, func(p netip.Prefix) bool { return p.Contains(a) })
}

// address returns the address of a TCP peer as prefixes have it, and an invalid one for others.
func address(a net.Addr) netip.Addr {
	switch a := a.(type) {
	case nil:
		return netip.Addr{}
	case *net.TCPAddr:
		return a.AddrPort().Addr().Unmap().WithZone("")
	default:
		return clientip.Peer(a.String()).Unmap().WithZone("")
	}
}

// asker returns the address that a question comes from, invalid for a unix socket.
func asker(ctx context.Context) netip.Addr {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return netip.Addr{}
	}
	return address(from.Addr)
}

// givenUp returns the error of a question whose context has ended.
func givenUp(ctx context.Context) error { return status.FromContextError(ctx.Err()).Err() }

// quiet is how long nothing is said again.
const quiet = 10 * time.Second

// seldom says a thing at most once in quiet. The zero value is ready.
type seldom struct {
	until  atomic.Int64 // as a time.Duration; nothing is said before
	missed atomic.Uint64
}

// say calls f with how many calls were left out since the last, unless that is too short ago.
func (s *seldom) say(now time.Duration, f func(missed uint64)) {
	until := s.until.Load()
	if int64(now) < until || !s.until.CompareAndSwap(until, int64(now+quiet)) {
		s.missed.Add(1)
		return
	}
	f(s.missed.Swap(0))
}

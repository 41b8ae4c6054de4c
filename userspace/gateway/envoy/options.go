package envoy

import (
	"cmp"
	"log/slog"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/headgate/headgate/userspace/httplimit"
)

// Options are who may ask and how the answers look.
type Options struct {
	// Gateways are the peers that may ask, beside those on unix sockets, which always may. Others are only
	// told whether the server is healthy.
	Gateways []netip.Prefix
	// Domain is the only domain of the rate limit service whose requests are limited. Those of others pass. Empty
	// for all domains.
	Domain string
	// HTTP says what responses tell clients; its Reject is not used. Its Clock has to be that of all fronts over the same
	// limits, and stays the one that NewServer got. By default it is a clock of this server.
	HTTP httplimit.Options
	// Log is where it is said that somebody asks who may not, and other things that are wrong with a gateway; each
	// at most once in a second. By default slog's.
	Log *slog.Logger
}

// What a connection may take. Envoy lets clients send 60 KiB of header fields unless told otherwise, and a question that is
// too large is an error, which Envoy may be told to take for a yes.
const (
	mostMessage   = 1 << 20
	mostMetadata  = 64 << 10
	mostStreams   = 1000
	handshakeTime = 10 * time.Second
	workersEach   = 16
	pingAfter     = time.Minute
	pingTimeout   = 20 * time.Second
	pingsApart    = 5 * time.Second
)

// bounds returns what keeps a gateway that has lost its mind from taking everything.
func bounds() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(mostMessage),
		grpc.MaxHeaderListSize(mostMetadata),
		grpc.MaxConcurrentStreams(mostStreams),
		grpc.ConnectionTimeout(handshakeTime),
		// Goroutines that stay have stacks that need not grow at each question. Where all wait, there are more.
		grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0)) * workersEach),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingsApart, PermitWithoutStream: true}),
	}
}

// complete returns o with what applies by default.
func (o Options) complete(clock func() time.Duration) *Options {
	o.HTTP.Clock = clock
	o.Log = cmp.Or(o.Log, slog.Default())
	o.Gateways = slices.Clone(o.Gateways)
	return &o
}

// ownClock returns a clock that begins at an hour, as the middleware's does.
func ownClock() func() time.Duration {
	start := time.Now().Add(-time.Hour)
	return func() time.Duration { return time.Since(start) }
}

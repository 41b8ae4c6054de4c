package envoy

import (
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/ruleset"
)

const start = time.Hour

// frozen is a clock that stands.
func frozen() time.Duration { return start }

// rulesOf returns the rules of an http section.
func rulesOf(t testing.TB, section string) *ruleset.Set {
	t.Helper()
	f, err := config.Parse("headgate.yaml", []byte("http:\n  "+strings.ReplaceAll(strings.TrimSpace(section), "\n", "\n  ")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := ruleset.New(f.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// quietly returns options with a clock that stands and a log that nobody reads.
func quietly(change ...func(*Options)) Options {
	o := Options{
		Gateways: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		HTTP:     httplimit.Options{Clock: frozen},
		Log:      slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

// client asks a server over a connection of its own.
type client struct {
	authv3.AuthorizationClient
	ratelimitv3.RateLimitServiceClient
	conn *grpc.ClientConn
}

// serve serves s on a TCP socket until the test ends.
func serve(t testing.TB, s *Server) client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, s, l, l.Addr().String())
}

// serveUnix serves s on a unix socket until the test ends.
func serveUnix(t testing.TB, s *Server) client {
	t.Helper()
	dir, err := os.MkdirTemp("", "envoy") // a path of t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "grpc.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, s, l, "unix:"+path)
}

func serveOn(t testing.TB, s *Server, l net.Listener, target string) client {
	t.Helper()
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		s.grpc.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return client{authv3.NewAuthorizationClient(conn), ratelimitv3.NewRateLimitServiceClient(conn), conn}
}

// checkOf is the question about a request from peer.
func checkOf(peer, method, host, target string, fields ...string) *authv3.CheckRequest {
	h := map[string]string{":path": target, ":method": method, "host": "ignored.example"}
	for i := 0; i < len(fields); i += 2 {
		h[fields[i]] = fields[i+1]
	}
	return &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		Source: &authv3.AttributeContext_Peer{Address: socket(peer)},
		Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
			Method: method, Host: host, Path: target, Headers: h,
		}},
	}}
}

func socket(address string) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: address, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 4711},
	}}}
}

// descriptor has the entries of a list of keys and values.
func descriptor(entries ...string) *commonv3.RateLimitDescriptor {
	d := &commonv3.RateLimitDescriptor{}
	for i := 0; i < len(entries); i += 2 {
		d.Entries = append(d.Entries, &commonv3.RateLimitDescriptor_Entry{Key: entries[i], Value: entries[i+1]})
	}
	return d
}

func limitRequest(descriptors ...*commonv3.RateLimitDescriptor) *ratelimitv3.RateLimitRequest {
	return &ratelimitv3.RateLimitRequest{Domain: "edge", Descriptors: descriptors}
}

// reading returns what reads a question, as gRPC gives it to a handler.
func reading(t testing.TB, m proto.Message) func(any) error {
	t.Helper()
	wire, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return func(v any) error { return newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(wire)}, v) }
}

// spy tells what its rules were asked.
type spy struct {
	Rules
	decide func(r *ruleset.Request)
}

func (s spy) Decide(r *ruleset.Request, now time.Duration) *ruleset.Decision {
	s.decide(r)
	return s.Rules.Decide(r, now)
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

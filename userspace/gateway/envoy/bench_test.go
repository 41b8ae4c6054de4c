package envoy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/headgate/headgate/userspace/ruleset"
)

// ready answers without deciding anything.
type ready struct {
	authv3.UnimplementedAuthorizationServer
	ratelimitv3.UnimplementedRateLimitServiceServer
	check *authv3.CheckResponse
	limit *ratelimitv3.RateLimitResponse
}

func (r ready) Check(context.Context, *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	return r.check, nil
}

func (r ready) ShouldRateLimit(context.Context, *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	return r.limit, nil
}

// empty returns handlers that say nothing but yes.
func empty() ready {
	return ready{check: &authv3.CheckResponse{}, limit: &ratelimitv3.RateLimitResponse{OverallCode: ok}}
}

// same returns handlers that always give the second answer of s to the questions of a benchmark.
func same(b *testing.B, s *Server) (r ready) {
	b.Helper()
	r = empty()
	for range 2 {
		check, err1 := s.check(b.Context(), reading(b, checkOf("192.0.2.7", "GET", "example.com", "/items?page=2", curl()...)))
		limit, err2 := s.shouldRateLimit(b.Context(), reading(b, limitRequest(descriptor("remote_address", "192.0.2.7"))))
		if err := errors.Join(err1, err2, proto.Unmarshal(check, r.check), proto.Unmarshal(limit, r.limit)); err != nil {
			b.Fatal(err)
		}
	}
	return r
}

// serveReady serves what NewServer makes, but for what the handlers do.
func serveReady(b *testing.B, r ready) client {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := grpc.NewServer(bounds()...)
	authv3.RegisterAuthorizationServer(s, r)
	ratelimitv3.RegisterRateLimitServiceServer(s, r)
	go s.Serve(l) //nolint:errcheck // it ends with the benchmark
	b.Cleanup(s.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return client{authv3.NewAuthorizationClient(conn), ratelimitv3.NewRateLimitServiceClient(conn), conn}
}

// prepared is what a load generator sends: it neither makes it anew each time nor looks at the answer.
type prepared struct {
	method string
	body   []byte
}

func prepare(b *testing.B, method string, m proto.Message) prepared {
	b.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	return prepared{method, body}
}

func (p prepared) ask(ctx context.Context, c client) error {
	return c.conn.Invoke(ctx, p.method, p.body, nil, grpc.ForceCodecV2(asItIs{}))
}

// asItIs is a codec of messages that are encoded already.
type asItIs struct{}

func (asItIs) Name() string { return "proto" }
func (asItIs) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (asItIs) Unmarshal(mem.BufferSlice, any) error { return nil }

// questions returns one of each service, as Envoy asks about a request of curl.
func questions(b *testing.B) map[string]prepared {
	return map[string]prepared{
		"check": prepare(b, authv3.Authorization_Check_FullMethodName,
			checkOf("192.0.2.7", "GET", "example.com", "/items?page=2", curl()...)),
		"ratelimit": prepare(b, ratelimitv3.RateLimitService_ShouldRateLimit_FullMethodName,
			limitRequest(descriptor("remote_address", "192.0.2.7", "path", "/items?page=2"))),
	}
}

// BenchmarkServer compares the questions a second that are answered with those of a server whose handlers are empty, in turns.
// vs-empty is the share of its rate that is left, vs-same that of a server whose handlers have the same answer ready.
func BenchmarkServer(b *testing.B) {
	for name, question := range questions(b) {
		for verdict, section := range verdicts() {
			b.Run(name+"/"+verdict, func(b *testing.B) {
				server := NewServer(inUse(b, section), quietly(func(o *Options) { o.HTTP.Clock = ownClock() }))
				clients := []client{serve(b, server), serveReady(b, empty()), serveReady(b, same(b, server))}
				var took [3]time.Duration
				total := 0
				for b.Loop() {
					for i, c := range clients {
						took[i] += inStreams(b, func() error { return question.ask(b.Context(), c) })
					}
					total += streams * each
				}
				b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "vs-empty")
				b.ReportMetric(took[2].Seconds()/took[0].Seconds(), "vs-same")
				b.ReportMetric(float64(total)/took[0].Seconds(), "questions/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// inUse returns rules that have seen 100,000 clients.
func inUse(b *testing.B, section string) *ruleset.Set {
	b.Helper()
	rules := rulesOf(b, section)
	client := netip.MustParseAddr("10.0.0.0")
	for range 100_000 {
		client = client.Next()
		rules.Decide(&ruleset.Request{Peer: client}, start).Free(start)
	}
	return rules
}

// A round of a benchmark.
const (
	streams = 16
	each    = 50 // questions of a stream
)

// inStreams asks in several streams at once, and returns how long it took.
func inStreams(b *testing.B, ask func() error) time.Duration {
	began := time.Now()
	var all sync.WaitGroup
	for range streams {
		all.Go(func() {
			for range each {
				if err := ask(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// BenchmarkHandlers is what the handlers take, with reading and writing, and without gRPC around them.
func BenchmarkHandlers(b *testing.B) {
	check := reading(b, checkOf("192.0.2.7", "GET", "example.com", "/items?page=2", curl()...))
	limits := reading(b, limitRequest(descriptor("remote_address", "192.0.2.7", "path", "/items?page=2")))
	for verdict, section := range verdicts() {
		s := NewServer(rulesOf(b, section), quietly(func(o *Options) { o.HTTP.Clock = ownClock() }))
		b.Run("check/"+verdict, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.check(b.Context(), check); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("ratelimit/"+verdict, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.shouldRateLimit(b.Context(), limits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// verdicts returns sections that give each verdict to all questions, but for the first.
func verdicts() map[string]string {
	return map[string]string{
		"pass":   "zones: {perip: {key: ip, rate: 100000000r/s}}\nrules: [{limits: [{zone: perip, burst: 100000, nodelay: true}]}]",
		"refuse": "zones: {perip: {key: ip, rate: 1r/h}}\nrules: [{limits: [{zone: perip}]}]",
	}
}

// curl returns header fields.
func curl() []string {
	return []string{"user-agent", "curl/8.5.0", "accept", "*/*", "x-forwarded-for", "192.0.2.7",
		"x-forwarded-proto", "https", "x-request-id", "0b9c6f3e-8f6e-4d7c-9d0e-1f2a3b4c5d6e"}
}

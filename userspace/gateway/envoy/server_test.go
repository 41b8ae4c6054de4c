package envoy

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate/userspace/ruleset"
)

// Only gateways may ask, and everybody sees whether the server is healthy.
func TestStrangers(t *testing.T) {
	var log bytes.Buffer
	s := NewServer(rulesOf(t, oneAMinute), quietly(func(o *Options) {
		o.Gateways, o.Log = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, slog.New(slog.NewTextHandler(&log, nil))
	}))
	c := serve(t, s)
	for range 3 {
		_, err := c.Check(t.Context(), checkOf("192.0.2.7", "GET", "example.com", "/"))
		equal(t, "check", status.Code(err), codes.PermissionDenied)
	}
	_, err := c.ShouldRateLimit(t.Context(), limitRequest(descriptor("remote_address", "192.0.2.7")))
	equal(t, "rate limit", status.Code(err), codes.PermissionDenied)
	health := healthv1.NewHealthClient(c.conn)
	watch, err := health.Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err == nil {
		_, err = watch.Recv()
	}
	equal(t, "watch", status.Code(err), codes.PermissionDenied)
	if _, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Errorf("health: %v", err)
	}
	equal(t, "strangers", s.Counters(), Counters{Strangers: 5})
	equal(t, "lines", strings.Count(log.String(), "auth.gateways"), 1)

	s.Replace(quietly())
	if _, err := c.Check(t.Context(), checkOf("192.0.2.7", "GET", "example.com", "/")); err != nil {
		t.Errorf("as a gateway: %v", err)
	}
}

// Who is on a unix socket has passed its file's mode.
func TestUnixMayAsk(t *testing.T) {
	var conn netip.Addr
	s := NewServer(spy{rulesOf(t, oneAMinute), func(r *ruleset.Request) { conn = r.Conn }}, quietly(func(o *Options) { o.Gateways = nil }))
	if _, err := serveUnix(t, s).Check(t.Context(), checkOf("192.0.2.7", "GET", "example.com", "/")); err != nil {
		t.Error(err)
	}
	equal(t, "conn", conn, netip.Addr{})
}

func TestIsGateway(t *testing.T) {
	gateways := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}
	for _, c := range []struct {
		addr net.Addr
		want bool
	}{
		{&net.TCPAddr{IP: net.ParseIP("127.0.0.1")}, true},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 9).To4(), Port: 1}, true},
		{&net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Zone: "eth0"}, true},
		{&net.TCPAddr{IP: net.ParseIP("::1")}, false},
		{told("192.0.2.1:80"), false},
		{told("[2001:db8::2]:80"), true},
		{told("::ffff:127.0.0.1"), true},
		{told(""), false},
		{nil, false},
	} {
		equal(t, "", isGateway(gateways, address(c.addr)), c.want)
	}
}

// told is an address as some listeners have it.
type told string

func (told) Network() string  { return "tcp" }
func (a told) String() string { return string(a) }

// What is said at most once in a while tells how often it was not.
func TestSeldom(t *testing.T) {
	var s seldom
	var said []uint64
	for _, now := range []time.Duration{0, 1, quiet - 1, quiet, quiet + 1, 3 * quiet} {
		s.say(now, func(missed uint64) { said = append(said, missed) })
	}
	equal(t, "times", len(said), 3)
	equal(t, "missed", [3]uint64(said), [3]uint64{0, 2, 1})
}

// The health service knows both services, until the server ends.
func TestHealth(t *testing.T) {
	s := NewServer(rulesOf(t, oneAMinute), quietly())
	health := healthv1.NewHealthClient(serve(t, s).conn)
	for _, service := range []string{"", "envoy.service.auth.v3.Authorization", "envoy.service.ratelimit.v3.RateLimitService"} {
		got, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
		if err != nil || got.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v, %v", service, got, err)
		}
	}
	watch, err := health.Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(t.Context()); err != nil { // would wait for the watcher
		t.Error(err)
	}
	for err == nil {
		_, err = watch.Recv()
	}
}

// Shutdown waits for answers, and then does not.
func TestShutdown(t *testing.T) {
	for _, patient := range []bool{true, false} {
		under := make(chan struct{}, 2)
		rules := spy{rulesOf(t, strings.Replace(queue, "1r/s", map[bool]string{true: "20r/s", false: "1r/h"}[patient], 1)), func(*ruleset.Request) { under <- struct{}{} }}
		s := NewServer(rules, quietly())
		c := serve(t, s)
		answers := make(chan error)
		for range 2 {
			go func() {
				_, err := c.Check(context.WithoutCancel(t.Context()), checkOf("192.0.2.7", "GET", "example.com", "/"))
				answers <- err
			}()
			<-under
		}
		ctx, cancel := context.WithCancel(t.Context())
		if !patient {
			cancel()
		}
		err := s.Shutdown(ctx)
		equal(t, "shutdown", errors.Is(err, context.Canceled), !patient)
		failed := 0
		for range 2 {
			if <-answers != nil {
				failed++
			}
		}
		if patient && failed > 0 || !patient && failed == 0 {
			t.Errorf("patient %t: %d failed", patient, failed)
		}
		cancel()
	}
}

package envoy

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

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

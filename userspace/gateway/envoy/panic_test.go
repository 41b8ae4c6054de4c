package envoy

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate/userspace/ruleset"
)

// A panic is the error of one question, and a line with the stack; the process and its other questions go on.
func TestPanic(t *testing.T) {
	var log bytes.Buffer
	broken := true
	s := NewServer(spy{rulesOf(t, oneAMinute), func(*ruleset.Request) {
		if broken {
			panic("the rules are broken")
		}
	}}, quietly(func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) }))
	c := serve(t, s)
	_, err := c.Check(t.Context(), checkOf("192.0.2.7", "GET", "example.com", "/"))
	equal(t, "check", status.Code(err), codes.Internal)
	_, err = c.ShouldRateLimit(t.Context(), limitRequest(descriptor("remote_address", "192.0.2.7")))
	equal(t, "rate limit", status.Code(err), codes.Internal)
	broken = false
	if _, err := c.Check(t.Context(), checkOf("192.0.2.7", "GET", "example.com", "/")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	for _, part := range []string{"the rules are broken", "envoy.(*Server).check", "method=Check", "times=1"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("no %q in the log:\n%s", part, log.String())
		}
	}
}

// So it is with what others have written: the health service.
func TestPanicOfOthers(t *testing.T) {
	s := NewServer(rulesOf(t, oneAMinute), quietly())
	_, err := s.surviving(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: healthv1.Health_Check_FullMethodName}, nil)
	equal(t, "call", status.Code(err), codes.Internal)
	err = s.untilClosing(nil, nil, &grpc.StreamServerInfo{FullMethod: healthv1.Health_Watch_FullMethodName}, nil)
	equal(t, "stream", status.Code(err), codes.Internal)
}

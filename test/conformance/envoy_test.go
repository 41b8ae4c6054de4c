package conformance_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/headgate/headgate/test/conformance"
	"github.com/headgate/headgate/userspace/gateway/envoy"
)

// dial serves r to Envoy on a unix socket, and returns a connection to it.
func dial(t *testing.T, r conformance.Rules) *grpc.ClientConn {
	t.Helper()
	dir, err := os.MkdirTemp("", "conformance") // a path of t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "grpc.sock"))
	if err != nil {
		t.Fatal(err)
	}
	s := envoy.NewServer(r.Set, envoy.Options{HTTP: r.Options})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := grpc.NewClient("unix:"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// seen returns the fields that Envoy's filters see: it has appended its peer to X-Forwarded-For, unless it is told not to,
// as the recipe says for hops.
func seen(s conformance.Step, hops int) http.Header {
	if hops > 0 {
		return s.Header
	}
	return forwarded(s)
}

// check is ext_authz.
type check struct {
	client authv3.AuthorizationClient
	hops   int
}

func openCheck(t *testing.T, r conformance.Rules) conformance.Front {
	return check{authv3.NewAuthorizationClient(dial(t, r)), r.HTTP.ClientIP.Hops}
}

func (check) Name() string { return "ext_authz" }

func (c check) Do(t *testing.T, s conformance.Step) conformance.Answer {
	t.Helper()
	out, err := c.client.Check(t.Context(), c.question(s))
	if err != nil {
		t.Fatal(err)
	}
	if denied := out.GetDeniedResponse(); denied != nil {
		return conformance.Answer{Status: int(denied.GetStatus().GetCode()), Header: added(denied.GetHeaders()), Body: denied.GetBody()}
	}
	return conformance.Answer{Status: http.StatusOK, Header: added(out.GetOkResponse().GetResponseHeadersToAdd())}
}

func (c check) question(s conformance.Step) *authv3.CheckRequest {
	fields := []*corev3.HeaderValue{
		{Key: ":authority", RawValue: []byte(s.Host)}, {Key: ":method", RawValue: []byte(s.Method)}, {Key: ":path", RawValue: []byte(s.Target)},
	}
	for name, values := range seen(s, c.hops) {
		for _, value := range values {
			fields = append(fields, &corev3.HeaderValue{Key: strings.ToLower(name), RawValue: []byte(value)})
		}
	}
	source := &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: "/run/envoy.sock"}}}
	if s.Peer.IsValid() {
		source = &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{Address: s.Peer.String()}}}
	}
	return &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		Source: &authv3.AttributeContext_Peer{Address: source},
		Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
			Method: s.Method, Host: s.Host, Path: s.Target, HeaderMap: &corev3.HeaderMap{Headers: fields},
		}},
	}}
}

func added(fields []*corev3.HeaderValueOption) http.Header {
	h := http.Header{}
	for _, f := range fields {
		h.Add(f.GetHeader().GetKey(), f.GetHeader().GetValue())
	}
	return conformance.Told(h)
}

// rateLimit is the rate limit service. It is told of all fields, as of those that a recipe names.
type rateLimit struct {
	client ratelimitv3.RateLimitServiceClient
	hops   int
}

func openRateLimit(t *testing.T, r conformance.Rules) conformance.Front {
	return rateLimit{ratelimitv3.NewRateLimitServiceClient(dial(t, r)), r.HTTP.ClientIP.Hops}
}

func (rateLimit) Name() string { return "ratelimit" }

// Expect implements conformance.Partial: the status of a refusal is Envoy's.
func (rateLimit) Expect(_ conformance.Step, a conformance.Answer) conformance.Answer {
	if a.Status != http.StatusOK && a.Status != http.StatusTooManyRequests {
		a.Status, a.Body = http.StatusTooManyRequests, ""
	}
	return a
}

func (r rateLimit) Do(t *testing.T, s conformance.Step) conformance.Answer {
	t.Helper()
	out, err := r.client.ShouldRateLimit(t.Context(), r.question(s))
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	for _, f := range out.GetResponseHeadersToAdd() {
		h.Add(f.GetKey(), f.GetValue())
	}
	a := conformance.Answer{Status: http.StatusOK, Header: conformance.Told(h), Body: string(out.GetRawBody())}
	if out.GetOverallCode() == ratelimitv3.RateLimitResponse_OVER_LIMIT {
		a.Status = http.StatusTooManyRequests
	}
	return a
}

// question tells of the request in two descriptors, of what most have and of the fields.
func (r rateLimit) question(s conformance.Step) *ratelimitv3.RateLimitRequest {
	first, second := &commonv3.RateLimitDescriptor{}, &commonv3.RateLimitDescriptor{}
	add := func(d *commonv3.RateLimitDescriptor, key, value string) {
		d.Entries = append(d.Entries, &commonv3.RateLimitDescriptor_Entry{Key: key, Value: value})
	}
	add(first, "path", s.Target)
	add(first, "method", s.Method)
	add(first, "host", s.Host)
	if s.Peer.IsValid() {
		add(second, "remote_address", s.Peer.String())
	}
	add(second, "path", s.Target)
	for name, values := range seen(s, r.hops) {
		add(second, strings.ToLower(name), strings.Join(values, ",")) // as Envoy joins them
	}
	return &ratelimitv3.RateLimitRequest{Domain: "headgate", Descriptors: []*commonv3.RateLimitDescriptor{first, second}}
}

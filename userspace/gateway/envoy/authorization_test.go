package envoy

import (
	"context"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/google/go-cmp/cmp"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

const oneAMinute = `
zones: {perip: {key: ip, rate: 1r/m}}
rules: [{limits: [{zone: perip}], status: 503}]
`

func option(name, value string, action corev3.HeaderValueOption_HeaderAppendAction) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: name, Value: value}, AppendAction: action}
}

// A check is answered as the proxy would.
func TestCheck(t *testing.T) {
	const add, set = corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD
	c := serve(t, NewServer(rulesOf(t, oneAMinute), quietly()))
	want := []*authv3.CheckResponse{{
		Status: &rpcstatus.Status{},
		HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: &authv3.OkHttpResponse{ResponseHeadersToAdd: []*corev3.HeaderValueOption{
			option("Ratelimit", `"perip";r=0;t=60`, add), option("Ratelimit-Policy", `"perip";q=1;w=60`, add),
		}}},
	}, {
		Status: &rpcstatus.Status{Code: int32(codes.ResourceExhausted)},
		HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{
			Status: &typev3.HttpStatus{Code: 503},
			Headers: []*corev3.HeaderValueOption{
				option("Cache-Control", "no-store", set), option("Retry-After", "60", set),
				option("Ratelimit", `"perip";r=0;t=60`, set), option("Ratelimit-Policy", `"perip";q=1;w=60`, set),
				option("Content-Type", "text/plain; charset=utf-8", set), option("X-Content-Type-Options", "nosniff", set),
			},
			Body: "503 Service Unavailable\n\nLimit \"perip\" is used up. Try again in 60 seconds.\n",
		}},
	}}
	for i, want := range want {
		got, err := c.Check(t.Context(), checkOf("192.0.2.7", "GET", "example.com", "/", "accept", "text/plain"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("answer %d (-want +got):\n%s", i, diff)
		}
	}
}

// Of the older families a response has one field of each name, whatever the backend sends.
func TestCheckOlderFields(t *testing.T) {
	s := NewServer(rulesOf(t, oneAMinute), quietly(func(o *Options) { o.HTTP.Headers = config.HeadersXRateLimit }))
	got, err := serve(t, s).Check(t.Context(), checkOf("192.0.2.7", "GET", "example.com", "/"))
	if err != nil {
		t.Fatal(err)
	}
	const set = corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD
	want := []*corev3.HeaderValueOption{
		option("X-Ratelimit-Limit", "1", set), option("X-Ratelimit-Remaining", "0", set), option("X-Ratelimit-Reset", "60", set),
	}
	if diff := cmp.Diff(want, got.GetOkResponse().GetResponseHeadersToAdd(), protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What Envoy tells becomes the request that net/http would have made of it.
func TestCheckRequest(t *testing.T) {
	raw := checkOf("2001:db8::1", "POST", "api.example.com:8443", "/%6cogin?a=b%20c")
	raw.Attributes.Request.Http.Headers = nil
	raw.Attributes.Request.Http.HeaderMap = &corev3.HeaderMap{Headers: []*corev3.HeaderValue{
		{Key: ":authority", RawValue: []byte("api.example.com:8443")}, {Key: "appid", RawValue: []byte("7\xff")},
		{Key: "appid", RawValue: []byte("8")}, {Key: "host", Value: "x"}, {Key: "accept", Value: "text/html"},
	}}
	pipe := checkOf("", "GET", "example.com", "/")
	pipe.Attributes.Source.Address = &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: "/run/envoy.sock"}}}
	loopback := netip.MustParseAddr("127.0.0.1")
	for _, c := range []struct {
		name string
		in   *authv3.CheckRequest
		want ruleset.Request
	}{{
		"map", checkOf("::ffff:192.0.2.7", "GET", "example.com", "/a//b?", "x-forwarded-for", "192.0.2.1,192.0.2.2"),
		ruleset.Request{Peer: netip.MustParseAddr("192.0.2.7"), Method: "GET", Host: "example.com", Path: "/a//b",
			Header: http.Header{"X-Forwarded-For": {"192.0.2.1,192.0.2.2"}}},
	}, {
		"raw", raw,
		ruleset.Request{Peer: netip.MustParseAddr("2001:db8::1"), Method: "POST", Host: "api.example.com:8443", Path: "/login", RawQuery: "a=b%20c",
			Header: http.Header{"Appid": {"7\xff", "8"}, "Accept": {"text/html"}}},
	}, {
		"pipe", pipe, ruleset.Request{Method: "GET", Host: "example.com", Path: "/", Header: http.Header{}},
	}} {
		t.Run(c.name, func(t *testing.T) {
			var got ruleset.Request
			rules := spy{rulesOf(t, oneAMinute), func(r *ruleset.Request) { got = *r; got.Header = r.Header.Clone() }}
			if _, err := serve(t, NewServer(rules, quietly())).Check(t.Context(), c.in); err != nil {
				t.Fatal(err)
			}
			c.want.Conn = loopback
			if diff := cmp.Diff(c.want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// What is not about an HTTP request is an error, not a yes.
func TestCheckWithoutRequest(t *testing.T) {
	s := NewServer(rulesOf(t, oneAMinute), quietly())
	c := serveUnix(t, s)
	for _, in := range []*authv3.CheckRequest{
		{}, {Attributes: &authv3.AttributeContext{}}, {Attributes: &authv3.AttributeContext{Request: &authv3.AttributeContext_Request{}}},
	} {
		_, err := c.Check(t.Context(), in)
		equal(t, "code", status.Code(err), codes.InvalidArgument)
	}
	equal(t, "counters", s.Counters(), Counters{Malformed: 3})
}

const queue = `
zones: {perip: {key: ip, rate: 1r/s}}
rules: [{limits: [{zone: perip, burst: 2}]}]
`

// The answer to a delayed request waits, and no longer than who asked.
func TestDelay(t *testing.T) {
	check := func(ctx context.Context, s *Server) error {
		_, err := s.check(ctx, reading(t, checkOf("192.0.2.7", "GET", "example.com", "/")))
		return err
	}
	rateLimit := func(ctx context.Context, s *Server) error {
		_, err := s.shouldRateLimit(ctx, reading(t, limitRequest(descriptor("remote_address", "192.0.2.7"))))
		return err
	}
	for name, ask := range map[string]func(context.Context, *Server) error{"check": check, "rate limit": rateLimit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewServer(rulesOf(t, queue), quietly())
				defer s.grpc.Stop()
				began := time.Now()
				for i := range 2 {
					if err := ask(t.Context(), s); err != nil {
						t.Fatal(err)
					}
					equal(t, "waited", time.Since(began), time.Duration(i)*time.Second)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				equal(t, "code", status.Code(ask(ctx, s)), codes.DeadlineExceeded)
				equal(t, "waited", time.Since(began), 1500*time.Millisecond)
				equal(t, "given up", s.Counters().GivenUp, 1)
			})
		})
	}
}

// A slot is held while the answer waits, so that such zones limit how many do.
func TestSlotsAreHeldWhileWaiting(t *testing.T) {
	const rules = `
zones: {perip: {key: ip, rate: 1r/s}, slots: {key: ip, concurrent: 1}}
rules: [{limits: [{zone: perip, burst: 9}, {zone: slots}]}]
`
	asked := map[string]func(context.Context, *Server) (written, error){
		"check": func(ctx context.Context, s *Server) (written, error) {
			return s.check(ctx, reading(t, checkOf("192.0.2.7", "GET", "example.com", "/")))
		},
		"rate limit": func(ctx context.Context, s *Server) (written, error) {
			return s.shouldRateLimit(ctx, reading(t, limitRequest(descriptor("remote_address", "192.0.2.7"))))
		},
	}
	for name, ask := range asked {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set := rulesOf(t, rules)
				s := NewServer(set, quietly())
				defer s.grpc.Stop()
				refused := func() bool {
					d := set.Explain(&ruleset.Request{Peer: netip.MustParseAddr("192.0.2.7")}, frozen())
					defer d.Free(frozen())
					return !d.Allowed
				}
				for range 2 { // the second waits
					go ask(t.Context(), s) //nolint:errcheck // it is how long it takes that counts
					synctest.Wait()
				}
				equal(t, "refused while one waits", refused(), true)
				time.Sleep(time.Second)
				synctest.Wait()
				equal(t, "refused when it has been answered", refused(), false)
			})
		})
	}
}

// A slot is not held beyond the answer, as nobody would give it back.
func TestSlotsAreNotHeld(t *testing.T) {
	c := serveUnix(t, NewServer(rulesOf(t, "zones: {slots: {key: ip, concurrent: 1}}\nrules: [{limits: [{zone: slots}]}]"), quietly()))
	for range 5 {
		answer, err := c.Check(t.Context(), checkOf("192.0.2.7", "GET", "example.com", "/"))
		if err != nil || answer.GetOkResponse() == nil {
			t.Fatalf("%v, %v", answer, err)
		}
		in := limitRequest(descriptor("remote_address", "192.0.2.7"))
		in.HitsAddend = 3 // three hits are one request
		limited, err := c.ShouldRateLimit(t.Context(), in)
		if err != nil || limited.GetOverallCode().String() != "OK" {
			t.Fatalf("%v, %v", limited, err)
		}
	}
}

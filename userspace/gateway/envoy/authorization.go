package envoy

import (
	"context"
	"net/http"
	"strings"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"

	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// authorization is the service of ext_authz.
type authorization struct{ *Server }

// Check implements authv3.AuthorizationServer.
func (s authorization) Check(ctx context.Context, in *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	f := s.newFields()
	r := requestOf(in.GetAttributes(), f)
	if r == nil {
		return nil, s.malformed("a check has no request.http; use the filter for HTTP, envoy.filters.http.ext_authz")
	}
	r.Conn = asker(ctx)
	answer, delay := s.check(r)
	s.freeFields(f)
	if err := s.pause(ctx, delay); err != nil {
		return nil, err
	}
	s.counts.checks.Add(1)
	return answer, nil
}

// check decides about r, and returns after what delay the answer is to be sent.
func (s authorization) check(r *ruleset.Request) (*authv3.CheckResponse, time.Duration) {
	d := s.rules.Decide(r, s.clock())
	defer func() { d.Free(s.clock()) }()
	o := s.options.Load().HTTP
	if !d.Allowed {
		return refusing(d, strings.Join(r.Header["Accept"], ","), o), 0
	}
	f := s.newFields()
	defer s.freeFields(f)
	httplimit.Fields(f.header, d, o)
	return passing(f.header), d.Delay
}

// passing returns the answer to a request that passes, with fields for its response. It is one piece of memory, since most
// answers are this.
func passing(h http.Header) *authv3.CheckResponse {
	var m struct {
		answer  authv3.CheckResponse
		status  rpcstatus.Status // the zero value is OK
		variant authv3.CheckResponse_OkResponse
		ok      authv3.OkHttpResponse
	}
	p := &m
	p.answer.Status, p.answer.HttpResponse = &p.status, &p.variant
	p.variant.OkResponse = &p.ok
	p.ok.ResponseHeadersToAdd = besides(h)
	return &p.answer
}

func refusing(d *ruleset.Decision, accept string, o httplimit.Options) *authv3.CheckResponse {
	code, h, body := httplimit.Answer(d, accept, o)
	return &authv3.CheckResponse{
		Status: &rpcstatus.Status{Code: int32(codes.ResourceExhausted)},
		HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{
			Status:  &typev3.HttpStatus{Code: typev3.StatusCode(code)},
			Headers: instead(h),
			Body:    string(body),
		}},
	}
}

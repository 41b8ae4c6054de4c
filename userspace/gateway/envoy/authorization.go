package envoy

import (
	"context"
	"strings"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// authorization returns the service of ext_authz.
func (s *Server) authorization() *grpc.ServiceDesc {
	desc := authv3.Authorization_ServiceDesc
	desc.Methods = []grpc.MethodDesc{s.method("Check", s.check)}
	return &desc
}

func (s *Server) check(ctx context.Context, read func(any) error) (written, error) {
	c := s.checks.Get().(*check)
	defer func() {
		if c.reset() {
			s.checks.Put(c)
		}
	}()
	if err := read(c); err != nil {
		return nil, err
	}
	r := c.request()
	if r == nil {
		return nil, s.malformed("a check has no request.http; use the filter for HTTP, envoy.filters.http.ext_authz")
	}
	r.Conn = asker(ctx)
	d := s.rules.Decide(r, s.clock())
	defer func() { d.Free(s.clock()) }()
	answer := c.answer(d, &s.options.Load().HTTP)
	if err := s.pause(ctx, d.Delay); err != nil {
		return nil, err
	}
	s.counts.checks.Add(1)
	return answer, nil
}

// answer returns the answer that says what was decided: a CheckResponse.
func (c *check) answer(d *ruleset.Decision, o *httplimit.Options) written {
	if !d.Allowed {
		return c.refusing(d, o)
	}
	c.response.Tell(d, o)
	return passing(&c.response)
}

// roomPassing and roomRefusing are how much most answers need.
const (
	roomPassing  = 256
	roomRefusing = 768
)

// passing returns the answer to a request that passes, with fields for its response.
func passing(r *httplimit.Response) written {
	b := make(written, 0, roomPassing)
	b = appendCode(b, 1, codes.OK)
	b, at := begin(b, 3)
	b = appendOptions(b, 6, r, true)
	return end(b, at)
}

// refusing returns the answer to one that is refused.
func (c *check) refusing(d *ruleset.Decision, o *httplimit.Options) written {
	c.response.Refuse(d, strings.Join(c.asked.Header["Accept"], ","), o)
	b := make(written, 0, roomRefusing)
	b = appendCode(b, 1, codes.ResourceExhausted)
	b, at := begin(b, 2)
	b = appendCode(b, 1, d.Status)
	b = appendOptions(b, 2, &c.response, false)
	b = appendString(b, 3, c.response.Body)
	return end(b, at)
}

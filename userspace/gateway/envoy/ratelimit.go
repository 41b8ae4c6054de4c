package envoy

import (
	"context"
	"fmt"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// mostDescriptors are in a call. Each is compared with those before it.
const mostDescriptors = 256

// rateLimits returns the rate limit service.
func (s *Server) rateLimits() *grpc.ServiceDesc {
	desc := ratelimitv3.RateLimitService_ServiceDesc
	desc.Methods = []grpc.MethodDesc{s.method("ShouldRateLimit", s.shouldRateLimit)}
	return &desc
}

func (s *Server) shouldRateLimit(ctx context.Context, read func(any) error) (written, error) {
	l := s.limits.Get().(*limits)
	defer func() {
		if l.reset() {
			s.limits.Put(l)
		}
	}()
	if err := read(l); err != nil {
		return nil, err
	}
	if n := len(l.descriptors) + l.beyond; n == 0 || n > mostDescriptors {
		return nil, s.malformed(fmt.Sprintf("a rate limit request has %d descriptors; send 1 to %d", n, mostDescriptors))
	}
	var asked []question
	if s.concerns(l.domain) {
		s.refuseRefunds(l.ask())
		asked = s.ask(l.questions, asker(ctx), s.clock())
		defer s.free(asked)
	}
	answer := l.answer(asked, &s.options.Load().HTTP)
	if err := s.pause(ctx, delayOf(asked)); err != nil {
		return nil, err
	}
	s.counts.rateLimits.Add(1)
	return answer, nil
}

// free gives back the decisions of questions.
func (s *Server) free(asked []question) {
	now := s.clock()
	for i := range asked {
		asked[i].decision.Free(now)
	}
}

// delayOf returns how long the answer to questions waits: not at all if one is refused.
func delayOf(asked []question) (delay time.Duration) {
	for i := range asked {
		d := asked[i].decision
		if !d.Allowed {
			return 0
		}
		delay = max(delay, d.Delay)
	}
	return delay
}

// concerns reports whether a domain is limited.
func (s *Server) concerns(domain string) bool {
	o := s.options.Load()
	if o.Domain == "" || o.Domain == domain {
		return true
	}
	s.counts.otherDomain.Add(1)
	if times, ok := s.counts.sayDomain.Now(); ok {
		o.Log.Warn("a rate limit request is of another domain than auth.domain, and passes unlimited",
			"domain", domain, "limited_domain", o.Domain, "times", times)
	}
	return false
}

// refuseRefunds counts descriptors that were to give something back.
func (s *Server) refuseRefunds(n int) {
	if n == 0 {
		return
	}
	s.counts.negative.Add(uint64(n))
	if times, ok := s.counts.sayNegative.Now(); ok {
		s.options.Load().Log.Warn("a descriptor has negative hits, which change nothing", "times", times)
	}
}

// malformed counts a question that cannot be answered, and returns its error.
func (s *Server) malformed(why string) error {
	s.counts.malformed.Add(1)
	if times, ok := s.counts.sayMalformed.Now(); ok {
		s.options.Load().Log.Warn("a gateway's question cannot be answered", "reason", why, "times", times)
	}
	return status.Error(codes.InvalidArgument, why)
}

// pause waits until the answer is to be sent.
func (s *Server) pause(ctx context.Context, delay time.Duration) error {
	err := wait(ctx, delay)
	if err != nil {
		s.counts.givenUp.Add(1)
	}
	return err
}

package envoy

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate/userspace/httplimit"
)

// mostDescriptors are in a call. Each is compared with those before it.
const mostDescriptors = 256

// rateLimits is the rate limit service.
type rateLimits struct{ *Server }

// ShouldRateLimit implements ratelimitv3.RateLimitServiceServer.
func (s rateLimits) ShouldRateLimit(ctx context.Context, in *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	n := len(in.GetDescriptors())
	if n == 0 || n > mostDescriptors {
		return nil, s.malformed(fmt.Sprintf("a rate limit request has %d descriptors; send 1 to %d", n, mostDescriptors))
	}
	answer := newAnswer(n)
	if s.concerns(in.GetDomain()) {
		questions, negative := questionsOf(in)
		s.refuseRefunds(negative)
		now := s.clock()
		asked := s.ask(questions, asker(ctx), now)
		delay := s.fill(answer, asked)
		for i := range asked {
			asked[i].decision.Free(s.clock())
		}
		if err := s.pause(ctx, delay); err != nil {
			return nil, err
		}
	}
	s.counts.rateLimits.Add(1)
	return answer.RateLimitResponse, nil
}

// concerns reports whether a domain is limited.
func (s rateLimits) concerns(domain string) bool {
	o := s.options.Load()
	if o.Domain == "" || o.Domain == domain {
		return true
	}
	s.counts.otherDomain.Add(1)
	s.counts.sayDomain.say(s.clock(), func(missed uint64) {
		o.Log.Warn("a rate limit request is of another domain than auth.domain, and passes unlimited",
			"domain", domain, "limited_domain", o.Domain, "not_logged", missed)
	})
	return false
}

// refuseRefunds counts descriptors that were to give something back.
func (s rateLimits) refuseRefunds(n int) {
	if n == 0 {
		return
	}
	s.counts.negative.Add(uint64(n))
	s.counts.sayNegative.say(s.clock(), func(missed uint64) {
		s.options.Load().Log.Warn("a descriptor has negative hits, which change nothing", "not_logged", missed)
	})
}

// malformed counts a question that cannot be answered, and returns its error.
func (s *Server) malformed(why string) error {
	s.counts.malformed.Add(1)
	s.counts.sayMalformed.say(s.clock(), func(missed uint64) {
		s.options.Load().Log.Warn("a gateway's question cannot be answered", "reason", why, "not_logged", missed)
	})
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

// answer is a response that is being made.
type answer struct{ *ratelimitv3.RateLimitResponse }

// newAnswer returns one that lets pass, with no limit for any of n descriptors.
func newAnswer(n int) answer {
	statuses := make([]*ratelimitv3.RateLimitResponse_DescriptorStatus, n)
	all := make([]ratelimitv3.RateLimitResponse_DescriptorStatus, n)
	for i := range statuses {
		all[i].Code = ratelimitv3.RateLimitResponse_OK
		statuses[i] = &all[i]
	}
	return answer{&ratelimitv3.RateLimitResponse{OverallCode: ratelimitv3.RateLimitResponse_OK, Statuses: statuses}}
}

// fill notes what was decided, and returns after what delay the answer is to be sent.
func (s rateLimits) fill(a answer, asked []question) (delay time.Duration) {
	o := s.options.Load().HTTP
	f := s.newFields()
	defer s.freeFields(f)
	if len(asked) > 1 {
		// Of the older families only the fields that are set last stay: those of the request that leaves least.
		slices.SortStableFunc(asked, func(p, q question) int { return cmp.Compare(leaves(&q), leaves(&p)) })
	}
	for i := range asked {
		q := &asked[i]
		a.note(q)
		if !q.decision.Allowed {
			a.OverallCode = ratelimitv3.RateLimitResponse_OVER_LIMIT
			a.refuse(q, o)
			return 0
		}
		delay = max(delay, q.decision.Delay)
		httplimit.Fields(f.header, q.decision, o)
	}
	a.ResponseHeadersToAdd = plain(f.header)
	return delay
}

// refuse makes the answer a refusal with the proxy's fields and body, but for the status, which is Envoy's.
func (a answer) refuse(q *question, o httplimit.Options) {
	q.decision.Status = http.StatusTooManyRequests
	_, h, body := httplimit.Answer(q.decision, strings.Join(q.Header["Accept"], ","), o)
	a.ResponseHeadersToAdd, a.RawBody = plain(h), body
}

package envoy

import (
	"net/netip"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headgate/headgate/userspace/ruleset"
)

// question is a request that descriptors describe.
type question struct {
	subject
	hits     uint64 // 0 asks without charging
	of       []int  // the numbers of its descriptors
	decision *ruleset.Decision
}

// questionsOf returns the requests that descriptors describe, and how many of them were to give something back.
func questionsOf(in *ratelimitv3.RateLimitRequest) (questions []question, negative int) {
	for i, d := range in.GetDescriptors() {
		if d.GetIsNegativeHits() {
			negative++
			continue
		}
		questions = add(questions, i, describe(d), hitsOf(in, d))
	}
	return questions, negative
}

// hitsOf returns the hits of a descriptor: its own, which may be 0, or those of the call, which are 1 if
// not told.
func hitsOf(in *ratelimitv3.RateLimitRequest, d *commonv3.RateLimitDescriptor) uint64 {
	if own := d.GetHitsAddend(); own != nil {
		return own.GetValue()
	}
	return max(1, uint64(in.GetHitsAddend()))
}

// add adds descriptor i to the first question that it does not contradict, or to a new one.
func add(questions []question, i int, s subject, hits uint64) []question {
	for n := range questions {
		q := &questions[n]
		if q.hits == hits && q.join(&s) {
			q.of = append(q.of, i)
			return questions
		}
	}
	return append(questions, question{subject: s, hits: hits, of: []int{i}})
}

// ask asks the rules all questions, up to the first that is refused. One that would be refused is asked first, so that
// nothing is charged for the others.
func (s *Server) ask(questions []question, conn netip.Addr, now time.Duration) (asked []question) {
	if len(questions) > 1 {
		for i := range questions {
			if s.wouldRefuse(&questions[i], conn, now) {
				questions[0], questions[i] = questions[i], questions[0]
				break
			}
		}
	}
	for i := range questions {
		q := &questions[i]
		r := q.request(conn, q.hits)
		if q.hits > 0 {
			q.decision = s.rules.Decide(r, now)
		} else {
			q.decision = s.rules.Explain(r, now)
		}
		if !q.decision.Allowed {
			return questions[:i+1]
		}
	}
	return questions
}

func (s *Server) wouldRefuse(q *question, conn netip.Addr, now time.Duration) bool {
	d := s.rules.Explain(q.request(conn, q.hits), now)
	defer d.Free(now)
	return !d.Allowed
}

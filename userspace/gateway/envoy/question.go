package envoy

import (
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/ruleset"
)

// question is a request that descriptors describe.
type question struct {
	subject
	hits     uint64 // 0 asks without charging
	of       []int  // the numbers of its descriptors
	decision *ruleset.Decision
}

// ask finds the requests that the descriptors describe, and returns how many of these were to give something back.
func (l *limits) ask() (negative int) {
	for i := range l.descriptors {
		d := &l.descriptors[i]
		if d.negative {
			negative++
			continue
		}
		l.add(i, describe(l.entriesOf(d)), l.hitsOf(d))
	}
	return negative
}

// add adds descriptor i to the first question that it does not contradict, or to a new one.
func (l *limits) add(i int, s subject, hits uint64) {
	for n := range l.questions {
		q := &l.questions[n]
		if q.hits == hits && q.join(&s) {
			q.of = append(q.of, i)
			return
		}
	}
	n := len(l.numbers)
	l.numbers = append(l.numbers, i)
	l.questions = append(l.questions, question{subject: s, hits: hits, of: l.numbers[n : n+1 : n+1]})
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

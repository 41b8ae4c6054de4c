package envoy

import (
	"sync/atomic"

	"github.com/headgate/headgate/userspace/seldom"
)

// Counters are what a server was asked, since it was made. What was decided is counted by the rules.
type Counters struct {
	// Checks and RateLimits are the questions of each service that were answered.
	Checks, RateLimits uint64
	// Strangers are questions of peers that may not ask.
	Strangers uint64
	// Malformed are questions that cannot be answered: without a request or without descriptors.
	Malformed uint64
	// OtherDomains are rate limit requests of another domain than Options.Domain, which passed unlimited.
	OtherDomains uint64
	// NegativeHits are descriptors that were to give something back, and changed nothing.
	NegativeHits uint64
	// GivenUp are questions that were withdrawn, or timed out, while the answer waited for a delay.
	GivenUp uint64
}

// counts are Counters that are counted, and what is logged about some of them.
type counts struct {
	checks, rateLimits, stranger, malformed, otherDomain, negative, givenUp atomic.Uint64

	sayStranger, sayMalformed, sayDomain, sayNegative, sayPanic seldom.Event
}

// Requests returns how many questions have come so far, those of peers that may not ask included.
func (s *Server) Requests() uint64 {
	return s.counts.checks.Load() + s.counts.rateLimits.Load() + s.counts.stranger.Load()
}

// Counters returns the counters.
func (s *Server) Counters() Counters {
	c := &s.counts
	return Counters{
		Checks:       c.checks.Load(),
		RateLimits:   c.rateLimits.Load(),
		Strangers:    c.stranger.Load(),
		Malformed:    c.malformed.Load(),
		OtherDomains: c.otherDomain.Load(),
		NegativeHits: c.negative.Load(),
		GivenUp:      c.givenUp.Load(),
	}
}

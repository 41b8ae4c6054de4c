package httplimit

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/ruleset"
)

// ruleDecider decides by the rules of a configuration.
type ruleDecider struct {
	rules    ruleset.Decider
	requests sync.Pool // of *ruleset.Request, of which nobody keeps anything
}

func (s *ruleDecider) decide(r *http.Request, now time.Duration) (*ruleset.Decision, freer) {
	request, ok := s.requests.Get().(*ruleset.Request)
	if !ok {
		request = new(ruleset.Request)
	}
	*request = ruleset.Request{
		Peer:     peer(r),
		Conn:     clientip.Conn(r.Context()),
		Method:   r.Method,
		Host:     r.Host,
		Path:     r.URL.Path,
		RawQuery: r.URL.RawQuery,
		Header:   r.Header,
	}
	d := s.rules.Decide(request, now)
	*request = ruleset.Request{}
	s.requests.Put(request)
	return d, d
}

// peer returns the address of the TCP peer, invalid if there is none.
func peer(r *http.Request) netip.Addr {
	p, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return p.Addr()
}

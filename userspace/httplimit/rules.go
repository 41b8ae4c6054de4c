package httplimit

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/ruleset"
)

// ruleDecider decides by the rules of a configuration.
type ruleDecider struct{ rules ruleset.Decider }

func (s ruleDecider) decide(r *http.Request, now time.Duration) (*ruleset.Decision, func(time.Duration)) {
	d := s.rules.Decide(&ruleset.Request{
		Peer:     peer(r),
		Conn:     clientip.Conn(r.Context()),
		Method:   r.Method,
		Host:     r.Host,
		Path:     r.URL.Path,
		RawQuery: r.URL.RawQuery,
		Header:   r.Header,
	}, now)
	return d, d.Free
}

// peer returns the address of the TCP peer, invalid if there is none.
func peer(r *http.Request) netip.Addr {
	p, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return p.Addr()
}

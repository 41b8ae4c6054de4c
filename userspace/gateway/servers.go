package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/dialed"
)

// ServerState is how a server of an upstream is.
type ServerState struct {
	Name     string // scheme, host and port
	Healthy  bool   // not left out
	InFlight int    // requests that it has now
	Error    string // how it failed the last time that it was asked; empty if it did not
	// Requests and Failures count since the server was first configured. A request that was tried with several
	// servers counts for each. A failure is a request with an answer of 5xx, or without one by its fault.
	Requests, Failures uint64
}

// Servers returns the state of all servers, in the order of the file.
func (p *Proxy) Servers() []ServerState {
	var states []ServerState
	for _, s := range p.pool.Load().servers {
		states = append(states, ServerState{
			Name:     s.name,
			Healthy:  !s.health.isOut(),
			InFlight: int(s.inFlight.Load()),
			Error:    s.problem(),
			Requests: s.requests.Load(),
			Failures: s.failures.Load(),
		})
	}
	return states
}

// Reaches reports whether an address of a server is in a prefix: one that is configured, or that the proxy has connected to.
func (p *Proxy) Reaches(prefix netip.Prefix) bool {
	return p.met.In(prefix) || slices.ContainsFunc(p.pool.Load().servers, func(s *server) bool {
		return dialed.IsIn(s.url.Hostname(), prefix)
	})
}

// server is one of those that requests are passed on to.
type server struct {
	url                *url.URL
	name               string
	health             health
	inFlight           atomic.Int64
	requests, failures atomic.Uint64
	failure            atomic.Pointer[string] // the last one that tells something about its health
}

// bad notes that the server did not answer, or not well.
func (s *server) bad(c config.Health, why error) change {
	text := why.Error()
	s.failure.Store(&text)
	return s.health.bad(c)
}

// problem returns how the server failed, unless it was well since.
func (s *server) problem() string {
	if text := s.failure.Load(); text != nil && !s.health.isSpotless() {
		return *text
	}
	return ""
}

// direct makes s the server that r goes to.
func (s *server) direct(r *http.Request) { r.URL.Scheme, r.URL.Host = s.url.Scheme, s.url.Host }

// copied returns r for another server. What a transport has got before it may still look at.
func copied(r *http.Request) *http.Request {
	out := r.WithContext(r.Context())
	u := *r.URL
	out.URL = &u
	return out
}

// pool is the servers of an upstream as it is configured. It does not change.
type pool struct {
	servers      []*server
	next         atomic.Uint64
	health       config.Health
	timeout      time.Duration
	preserveHost bool
	transport    http.RoundTripper
	retired      chan struct{}
}

// What applies where an upstream says nothing.
const (
	defaultUpstreamTimeout = 60 * time.Second
	defaultInterval        = 5 * time.Second
	defaultCheckTimeout    = time.Second
	defaultFailures        = 3
	defaultSuccesses       = 2
)

// newPool returns the servers of u, with the state of those that before has too. transport is made if nil, and notes whom it has met.
func newPool(u config.Upstream, before *pool, transport http.RoundTripper, met *dialed.Addrs) (*pool, error) {
	p := &pool{
		health: config.Health{
			Path:      u.Health.Path,
			Interval:  cmp.Or(u.Health.Interval, defaultInterval),
			Timeout:   cmp.Or(u.Health.Timeout, defaultCheckTimeout),
			Failures:  cmp.Or(u.Health.Failures, defaultFailures),
			Successes: cmp.Or(u.Health.Successes, defaultSuccesses),
		},
		timeout:      cmp.Or(u.Timeout, defaultUpstreamTimeout),
		preserveHost: u.PreserveHost,
		transport:    transport,
		retired:      make(chan struct{}),
	}
	if len(u.Servers) == 0 {
		return nil, errors.New("upstream: no servers; name one, such as http://127.0.0.1:9000")
	}
	for _, target := range u.Servers {
		s, err := before.server(target)
		if err != nil {
			return nil, err
		}
		p.servers = append(p.servers, s)
	}
	switch {
	case transport != nil:
	case before != nil && before.timeout == p.timeout:
		p.transport = before.transport
	default:
		p.transport = newTransport(p.timeout, met)
	}
	return p, nil
}

// server returns the server at target, that which p has if it does. p may be nil.
func (p *pool) server(target *url.URL) (*server, error) {
	if target.Scheme != "http" && target.Scheme != "https" || target.Host == "" || target.Path != "" && target.Path != "/" {
		return nil, fmt.Errorf("upstream: server %q: not a scheme and an address; use http://127.0.0.1:9000 or https://host", target.Redacted())
	}
	name := target.Scheme + "://" + target.Host
	if p != nil {
		if i := slices.IndexFunc(p.servers, func(s *server) bool { return s.name == name }); i >= 0 {
			return p.servers[i], nil
		}
	}
	return &server{url: target, name: name}, nil
}

// retire is for when after has taken the place of p.
func (p *pool) retire(after *pool) {
	close(p.retired)
	if idle, ok := p.transport.(interface{ CloseIdleConnections() }); ok && p.transport != after.transport {
		idle.CloseIdleConnections()
	}
}

// pick returns the server to try next: of those not left out the one with the fewest requests, and by turns where several
// have as few. If all are left out they are tried as if none were, as they may have come back.
func (p *pool) pick(tried []*server) *server {
	first := p.next.Add(1)
	var least *server
	for _, mayBeOut := range []bool{false, true} {
		for i := range uint64(len(p.servers)) {
			s := p.servers[(first+i)%uint64(len(p.servers))]
			switch {
			case slices.Contains(tried, s):
			case !mayBeOut && s.health.isDue():
				return s
			case !mayBeOut && s.health.isOut():
			case least == nil || s.inFlight.Load() < least.inFlight.Load():
				least = s
			}
		}
		if least != nil {
			return least
		}
	}
	return p.servers[first%uint64(len(p.servers))]
}

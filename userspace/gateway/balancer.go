package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/dialed"
)

// mostTries is how many servers a request is tried with: enough for one that has just gone, and not so many that a
// request which breaks servers breaks all of them.
const mostTries = 3

// balancer is the http.RoundTripper of a proxy: it chooses the servers.
type balancer struct{ p *Proxy }

// RoundTrip implements http.RoundTripper, but changes r, which is ReverseProxy's copy.
func (b balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	b.p.waiting.Add(1)
	defer b.p.waiting.Add(-1)
	x := exchangeOf(r.Context())
	if r.Body != nil {
		x.body = &sentBody{Reader: r.Body}
		r.Body = x.body
	}
	pool := b.p.pool.Load()
	began := time.Now()
	tried := make([]*server, 0, mostTries)
	for {
		s := pool.pick(tried)
		tried = append(tried, s)
		x.enter(s)
		s.direct(r)
		res, err := roundTrip(pool.transport, r)
		if err == nil {
			b.p.succeeded(pool, s)
			if res.StatusCode >= http.StatusInternalServerError {
				s.failures.Add(1)
			}
			b.p.observe(res.StatusCode, began)
			return res, nil
		}
		if !b.p.failed(pool, s, r, x, err) {
			b.p.observe(StatusClientGone, began)
			return nil, err
		}
		if !isRepeatable(r, x.body, err) || len(tried) == min(mostTries, len(pool.servers)) {
			b.p.observe(statusOf(err), began)
			return nil, err
		}
		r = copied(r)
	}
}

// roundTrip is that of t, but a status that is none is an error: net/http panics when it is to write one.
func roundTrip(t http.RoundTripper, r *http.Request) (*http.Response, error) {
	res, err := t.RoundTrip(r)
	if err == nil && res.StatusCode < http.StatusContinue {
		res.Body.Close()
		return nil, fmt.Errorf("the server's status is %03d", res.StatusCode)
	}
	return res, err
}

// failed notes that s failed, and reports whether it was not the client's fault. If it was ours, nothing is known of s.
func (p *Proxy) failed(pool *pool, s *server, r *http.Request, x *exchange, err error) bool {
	if r.Context().Err() != nil || x.body.failure() != nil {
		return false
	}
	if isOwnFault(err) {
		return true
	}
	s.failures.Add(1)
	if isUnreachable(err) {
		p.report(s, s.bad(pool.health, err))
	}
	return true
}

// succeeded notes that s answered. With a path to ask, only the answers there take it back.
func (p *Proxy) succeeded(pool *pool, s *server) {
	if s.health.isSpotless() {
		return
	}
	p.report(s, s.health.answered(pool.health))
}

// report tells whoever is to know that s is left out or taken back, if it is.
func (p *Proxy) report(s *server, c change) {
	switch c {
	case leftOut:
		p.log.Warn("server is left out", "upstream", s.name)
	case takenBack:
		p.log.Info("server is taken back", "upstream", s.name)
	default:
		return
	}
	if p.o.Changed != nil {
		p.o.Changed(s.name, c == takenBack)
	}
}

func (p *Proxy) observe(status int, began time.Time) {
	if p.o.Observe != nil {
		p.o.Observe(status, time.Since(began))
	}
}

// isRepeatable reports whether r can go to another server after err. A server that could not be reached has got
// nothing. One that has may have done what it was asked, and one that was slow would only get company.
func isRepeatable(r *http.Request, body *sentBody, err error) bool {
	if isUnreachable(err) {
		return body.isWhole()
	}
	safe := []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}
	return body == nil && slices.Contains(safe, r.Method) && !isTimeout(err)
}

// unreachable is an error of a server that no connection was made to.
type unreachable struct{ error }

// Unwrap is for package errors.
func (u unreachable) Unwrap() error { return u.error }

func isUnreachable(err error) bool {
	_, ok := errors.AsType[unreachable](err)
	return ok
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// dialTimeout is how long a connection to a server may take. Where it is far away that is a tenth of it.
const dialTimeout = 5 * time.Second

// dialer makes connections to servers, that have to take what is written to them within write, and notes whom it has met.
func dialer(write time.Duration, met *dialed.Addrs) func(context.Context, string, string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout, Control: met.Control}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, unreachable{err}
		}
		return &serverConn{Conn: conn, write: write}, nil
	}
}

// serverConn is a connection to a server that is given up if the server does not read.
type serverConn struct {
	net.Conn
	write time.Duration
	until time.Time // the deadline in force
}

// Write implements io.Writer. It is called by one goroutine at a time. The deadline moves only when too little of it is left, and an
// eighth further than it must: to move it costs as much as a small write.
func (c *serverConn) Write(p []byte) (int, error) {
	if now := time.Now(); c.until.Sub(now) < c.write {
		c.until = now.Add(c.write + c.write/8)
		if err := c.SetWriteDeadline(c.until); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(p)
}

// CloseWrite is for tunnels.
func (c *serverConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// newTransport returns a transport that gives a server so long for its answer to begin.
func newTransport(timeout time.Duration, met *dialed.Addrs) *http.Transport {
	return &http.Transport{
		DialContext:           dialer(timeout, met),
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   1024, // as many as were in use: to close and dial costs more than to keep
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: timeout,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // the client is who says what it accepts
	}
}

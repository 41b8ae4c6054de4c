package gateway

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/dialed"
	"github.com/headgate/headgate/userspace/seldom"
)

// ProxyOptions are what a config.Upstream does not say. The zero value is ready.
type ProxyOptions struct {
	// TrustedProxies, and with TrustUnix peers on a unix socket, may say in X-Forwarded-For, -Host and -Proto what
	// they know of a request: the proxy goes on with what they say. What others send in these fields and in X-Real-IP
	// does not reach the servers.
	TrustedProxies []netip.Prefix
	TrustUnix      bool
	Log            *slog.Logger // slog.Default if nil
	// Observe, if set, is told how each request went: the status of the server's answer, or of the proxy's own where
	// there was none, and how long it took until it began; with StatusClientGone that the client left, or did not send the request in
	// full, which says nothing about the server.
	Observe func(status int, latency time.Duration)
	// Changed, if set, is told when a server is left out, and when it is taken back.
	Changed func(server string, healthy bool)
	// Met, if set, is called when a server is found to have an address that Reaches did not know. It must not wait.
	Met func()
	// Transport sends requests to the servers; the proxy's own if nil.
	Transport http.RoundTripper
}

// StatusClientGone is what Observe is told of requests that nobody waits for any more, as nginx logs it.
const StatusClientGone = 499

// Proxy passes requests on to the servers of an upstream. It is a handler that limits nothing. All methods may be
// called at the same time.
//
// A request goes to the server that has the fewest under way. If it cannot be reached, and nothing of the request is lost,
// the next is tried; if it fails after that, only if the request has no body and asks for no change.
type Proxy struct {
	o        ProxyOptions
	log      *slog.Logger
	reverse  httputil.ReverseProxy
	inFlight atomic.Int64
	waiting  atomic.Int64
	pool     atomic.Pointer[pool]
	met      dialed.Addrs
	failing  seldom.Event

	replacing sync.Mutex
}

// NewProxy returns a proxy to the servers of u, all of them taken for healthy. An error says what of u is not possible.
func NewProxy(u config.Upstream, o ProxyOptions) (*Proxy, error) {
	p := &Proxy{o: o, met: dialed.Addrs{New: o.Met}, log: cmp.Or(o.Log, slog.Default())}
	p.reverse = httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      balancer{p},
		ModifyResponse: modifyResponse,
		ErrorHandler:   p.fail,
		ErrorLog:       newErrorLog(p.log),
		BufferPool:     new(buffers),
	}
	first, err := newPool(u, nil, o.Transport, &p.met)
	if err != nil {
		return nil, err
	}
	p.pool.Store(first)
	return p, nil
}

// Replace makes requests that come from now on go to the servers of u. Servers that stay keep their state and counts.
// After an error nothing has changed.
func (p *Proxy) Replace(u config.Upstream) error {
	p.replacing.Lock()
	defer p.replacing.Unlock()
	before := p.pool.Load()
	after, err := newPool(u, before, p.o.Transport, &p.met)
	if err != nil {
		return err
	}
	p.pool.Store(after)
	before.retire(after)
	return nil
}

// InFlight returns how many requests are under way, tunnels included.
func (p *Proxy) InFlight() int { return int(p.inFlight.Load()) }

// Waiting returns how many requests wait for a server's answer to begin.
func (p *Proxy) Waiting() int { return int(p.waiting.Load()) }

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		w.Header().Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE")
		writeFailure(w, r, http.StatusMethodNotAllowed, "This is a reverse proxy. It opens no tunnels.")
		return
	}
	if r.URL.Opaque != "" { // "GET a:b": limits see no path in it, and the server would get one, b
		writeFailure(w, r, http.StatusBadRequest, "The request's target is neither a path nor a URL with a host.")
		return
	}
	if !hasTokens(r) {
		writeFailure(w, r, http.StatusBadRequest, "The request's method, or the name of a trailer field, is no token.")
		return
	}
	p.inFlight.Add(1)
	defer p.inFlight.Add(-1)
	x := newExchange(r.Context(), w)
	defer x.leave()
	p.reverse.ServeHTTP(w, r.WithContext(x))
}

// hasTokens reports whether the names in r that net/http takes as they come can be sent. That they cannot would be found by the
// transport, and would count as a failure of the server.
func hasTokens(r *http.Request) bool {
	if !httpguts.ValidHeaderFieldName(r.Method) { // a token too
		return false
	}
	for name := range r.Trailer {
		if !httpguts.ValidTrailerHeader(name) || !httpguts.ValidHeaderFieldName(name) {
			return false
		}
	}
	return true
}

// rewrite makes the request that the server gets, but for which server that is.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	if !p.pool.Load().preserveHost {
		r.Out.Host = "" // the server's
	}
	// ReverseProxy leaves out arguments that net/url cannot read. The limiter looks at those too, and there are
	// servers that take them.
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	refuseUpgrade(r.Out.Header)
	p.forward(r)
}

// buffers is a httputil.BufferPool.
type buffers struct{ pool sync.Pool }

// bufferSize is that of httputil.ReverseProxy.
const bufferSize = 32 << 10

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return p[:]
	}
	return make([]byte, bufferSize)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(p []byte) { b.pool.Put((*[bufferSize]byte)(p)) }

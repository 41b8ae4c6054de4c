package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/gateway/internal/peers"
	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/ruleset"
	"github.com/headgate/headgate/userspace/seldom"
)

// The paths that gateways ask at.
const (
	NginxPath   = "/auth/nginx"
	ForwardPath = "/auth/forward"
)

// AuthOptions say who may ask, and how is answered.
type AuthOptions struct {
	// Limit is how limited requests are answered. Its Reject is not looked at.
	Limit httplimit.Options
	// Gateways are the peers that may ask, beside those on unix sockets.
	Gateways []netip.Prefix
	Log      *slog.Logger // slog.Default if nil
}

// Auth is the fronts that gateways ask whether a request of their client may pass. All methods may be called at the same
// time.
//
// It takes the place of the proxy in what it decides: the gateway's peer is the request's, and the client's header the
// request's header. But it knows only when a request begins. Zones of requests at a time are
// therefore left at once, and limit only those that are asked about, or delayed, at one time.
//
// The answer to a request that is delayed comes after its delay.
type Auth struct {
	http.Handler
	o         AuthOptions
	log       *slog.Logger
	strangers atomic.Uint64
	strange   seldom.Event
	untold    seldom.Event
}

// NewAuth returns the fronts for limits that d decides about.
func NewAuth(d ruleset.Decider, o AuthOptions) *Auth {
	a := &Auth{o: o, log: cmp.Or(o.Log, slog.Default())}
	passed := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	front := func(told func(*http.Request) (*http.Request, error), limit httplimit.Options) http.Handler {
		return a.translated(told, httplimit.New(d, limit)(passed))
	}
	forward, nginx := o.Limit, o.Limit
	forward.Reject, nginx.Reject = refuseForward(o.Limit), refuseNginx(o.Limit)
	mux := http.NewServeMux()
	mux.Handle(NginxPath, front(toldByNginx, nginx))
	mux.Handle(ForwardPath, front(toldByForward, forward))
	a.Handler = a.onlyGateways(mux)
	return a
}

// Strangers returns how often somebody asked who may not.
func (a *Auth) Strangers() uint64 { return a.strangers.Load() }

// onlyGateways refuses others: who may ask says whose bucket is charged.
func (a *Auth) onlyGateways(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		gateway := gatewayOf(r)
		if !gateway.IsValid() || peers.Among(a.o.Gateways, gateway) {
			next.ServeHTTP(w, r)
			return
		}
		a.strangers.Add(1)
		if times, ok := a.strange.Now(); ok {
			a.log.Warn("who asks is no gateway; list it under auth: gateways if it is", "peer", gateway, "times", times)
		}
		http.Error(w, "you are not one of the gateways that may ask", http.StatusForbidden)
	})
}

// gatewayOf returns the address that the connection is from, invalid for a unix socket.
func gatewayOf(r *http.Request) netip.Addr {
	if conn := clientip.Conn(r.Context()); conn.IsValid() {
		return conn
	}
	return clientip.Peer(r.RemoteAddr).WithZone("")
}

// translated gives next the request that the gateway tells of.
func (a *Auth) translated(told func(*http.Request) (*http.Request, error), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client, err := told(r)
		if err != nil {
			if times, ok := a.untold.Now(); ok {
				a.log.Error("a gateway does not tell what it has to", "error", err, "path", r.URL.Path, "times", times)
			}
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(w, client)
	})
}

// question is what a gateway tells of its client's request.
type question struct {
	peer              string // "unix:" for a peer without an address
	method, host, uri string
	header            http.Header // the client's
}

// request returns the client's request, whose context ends with that of r.
func (q question) request(r *http.Request) (*http.Request, error) {
	if q.method == "" {
		return nil, errors.New("the gateway does not say the request's method; see the recipe for what to set")
	}
	peer := clientip.Peer(q.peer)
	if !peer.IsValid() && !strings.HasPrefix(q.peer, "unix:") {
		return nil, errPeer(q.peer)
	}
	target, err := url.ParseRequestURI(q.uri)
	if err != nil {
		return nil, fmt.Errorf("the gateway does not say what is requested: %w", err)
	}
	if target.Opaque != "" { // limits see no path in it, and the server may
		return nil, fmt.Errorf("the gateway does not say what is requested: %q is neither a path nor a URL with a host", q.uri)
	}
	ctx := r.Context()
	if gateway := gatewayOf(r); gateway.IsValid() {
		ctx = clientip.WithConn(ctx, gateway)
	}
	client := r.WithContext(ctx)
	client.RemoteAddr = q.peer
	if peer.IsValid() {
		client.RemoteAddr = netip.AddrPortFrom(peer, 0).String()
	}
	client.Method, client.Host, client.URL, client.RequestURI, client.Header = q.method, q.host, target, q.uri, q.header
	return client, nil
}

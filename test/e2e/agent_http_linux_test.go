package e2e_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/headgate/headgate/test/netlab"
)

// webPort is where agents of these tests listen, each in a namespace of its own.
const webPort = "8080"

func itoa(n int) string { return strconv.Itoa(n) }

// browser sends requests from one address.
type browser struct {
	*http.Client
	tb   testing.TB
	base string
}

// response is what came of a request.
type response struct {
	status int
	header http.Header
	body   string
}

// browser returns a client with one of the addresses at the other end.
func (s *site) browser(from string) *browser {
	return newBrowser(s.tb, s.pair.Near.Namespace, from, net.JoinHostPort(target, webPort))
}

// local returns a client on the host itself.
func (s *site) local(port string) *browser {
	return newBrowser(s.tb, s.pair.Far.Namespace, "127.0.0.1", net.JoinHostPort("127.0.0.1", port))
}

func newBrowser(tb testing.TB, ns *netlab.Namespace, from, to string) *browser {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dial(ctx, ns, from, to)
	}}
	tb.Cleanup(transport.CloseIdleConnections)
	return &browser{Client: &http.Client{Transport: transport, Timeout: pollLimit}, tb: tb, base: "http://" + to}
}

// dial connects to a TCP port from an address in a namespace.
func dial(ctx context.Context, ns *netlab.Namespace, from, to string) (conn net.Conn, err error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(addr(from), 0)), Timeout: pollLimit}
	err = ns.Do(func() (err error) {
		conn, err = d.DialContext(ctx, "tcp", to) // an address needs no look-up, which would be done elsewhere
		return err
	})
	return conn, err
}

// try sends a request with header fields, names and values in turn.
func (b *browser) try(path string, header ...string) (response, error) {
	r, err := http.NewRequestWithContext(b.tb.Context(), http.MethodGet, b.base+path, nil)
	if err != nil {
		return response{}, err
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	res, err := b.Do(r)
	if err != nil {
		return response{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return response{res.StatusCode, res.Header, string(body)}, err
}

func (b *browser) get(path string, header ...string) response {
	b.tb.Helper()
	r, err := b.try(path, header...)
	if err != nil {
		b.tb.Fatal(err)
	}
	return r
}

// statuses returns how often n requests got which status.
func (b *browser) statuses(n int, header ...string) map[int]int {
	b.tb.Helper()
	all := map[int]int{}
	for range n {
		all[b.get("/", header...).status]++
	}
	return all
}

// wantStatuses checks what n requests get: allowed of them 200, the others 429.
func (b *browser) wantStatuses(n, allowed int, header ...string) {
	b.tb.Helper()
	if got := b.statuses(n, header...); got[http.StatusOK] != allowed || got[http.StatusTooManyRequests] != n-allowed {
		b.tb.Errorf("%d requests got %v, want %d allowed", n, got, allowed)
	}
}

// backend is a server behind the agent, on the host itself.
type backend struct {
	site   *site
	addr   string
	server *http.Server
}

// startBackend starts a server that answers as it is told; by nil, 200 to all.
func (s *site) startBackend(h http.HandlerFunc) *backend {
	s.tb.Helper()
	if h == nil {
		h = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }
	}
	b := &backend{site: s, addr: "127.0.0.1:9000"}
	b.start(h)
	s.tb.Cleanup(b.stop)
	return b
}

func (b *backend) start(h http.HandlerFunc) {
	b.site.tb.Helper()
	var l net.Listener
	err := b.site.pair.Far.Namespace.Do(func() (err error) {
		l, err = net.Listen("tcp", b.addr)
		return err
	})
	if err != nil {
		b.site.tb.Fatal(err)
	}
	b.server = &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = b.server.Serve(l) }() // until it is closed
}

func (b *backend) stop() { _ = b.server.Close() }

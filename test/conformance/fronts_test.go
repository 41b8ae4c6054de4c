package conformance_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/conformance"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/gateway"
	"github.com/headgate/headgate/userspace/httplimit"
)

// TestFronts: the same requests, the same decisions and the same fields, whoever asks.
func TestFronts(t *testing.T) {
	conformance.Run(t, openMiddleware, openProxy, openNginx, openForward, openCheck, openRateLimit)
}

// handler is a front that is a http.Handler: it is given the request that ask makes of a step.
type handler struct {
	name string
	http.Handler
	ask func(t *testing.T, s conformance.Step) *http.Request
}

func (h handler) Name() string { return h.name }

func (h handler) Do(t *testing.T, s conformance.Step) conformance.Answer {
	t.Helper()
	w := h.record(t, s)
	return conformance.Answer{Status: w.Code, Header: conformance.Told(w.Header()), Body: w.Body.String()}
}

func (h handler) record(t *testing.T, s conformance.Step) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, h.ask(t, s))
	return w
}

// direct returns the request of a step as a server reads it.
func direct(t *testing.T, s conformance.Step) *http.Request {
	t.Helper()
	return read(t, s.Method, s.Target, s.Host, s.Header, s.Peer)
}

// read returns a request that came over a connection from peer.
func read(t *testing.T, method, target, host string, h http.Header, peer netip.Addr) *http.Request {
	t.Helper()
	var b strings.Builder
	b.WriteString(method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n")
	if err := h.Write(&b); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(b.String() + "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	r.RemoteAddr = "@" // as net/http has it of a unix socket
	if peer.IsValid() {
		r.RemoteAddr = netip.AddrPortFrom(peer, 4711).String()
	}
	return r.WithContext(t.Context())
}

func openMiddleware(_ *testing.T, r conformance.Rules) conformance.Front {
	passed := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	return handler{"middleware", httplimit.New(r.Set, r.Options)(passed), direct}
}

// backend answers what the proxy passes on.
type backend struct{}

func (backend) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

func openProxy(t *testing.T, r conformance.Rules) conformance.Front {
	u := config.Upstream{Servers: []*url.URL{{Scheme: "http", Host: "127.0.0.1:9000"}}, Timeout: time.Minute, PreserveHost: true}
	p, err := gateway.NewProxy(u, gateway.ProxyOptions{Transport: backend{}, TrustedProxies: r.HTTP.ClientIP.TrustedProxies})
	if err != nil {
		t.Fatal(err)
	}
	return handler{"proxy", httplimit.New(r.Set, r.Options)(p), direct}
}

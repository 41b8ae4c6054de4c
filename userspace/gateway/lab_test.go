package gateway

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/test/transcript"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// times are the timeouts of tests that wait for none of them.
func times() config.Timeouts {
	return config.Timeouts{Header: time.Minute, Read: time.Minute, Write: time.Minute, Idle: time.Minute, Tunnel: time.Minute, Drain: time.Minute}
}

// logged is a log that can be read while it is written.
type logged struct{ transcript.Buffer }

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// loopback listens on a free port of 127.0.0.1.
func loopback(t testing.TB, l config.Listener) net.Listener {
	t.Helper()
	l.Network, l.Address = "tcp", "127.0.0.1:0"
	listener, err := Listen(l, ListenOptions{Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// run serves h on l until the test ends.
func run(t testing.TB, l net.Listener, h http.Handler, o ServerOptions) *Server {
	t.Helper()
	o.Name, o.Handler = "test", h
	if o.Timeouts == (config.Timeouts{}) {
		o.Timeouts = times()
	}
	if o.Log == nil {
		o.Log = quiet()
	}
	s := NewServer(o)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

// client returns a client that closes its connections when the test ends.
func client(t testing.TB, transport *http.Transport) *http.Client {
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// got is a response that was read to its end.
type got struct {
	status int
	header http.Header
	body   string
}

func do(t testing.TB, c *http.Client, method, url, body string, header ...string) got {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header[header[i]] = append(r.Header[header[i]], header[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	read, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got{res.StatusCode, res.Header, string(read)}
}

// backend serves h, and returns where.
func backend(t testing.TB, h http.HandlerFunc) *url.URL {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return parse(t, s.URL)
}

func parse(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func newTestProxy(t testing.TB, u config.Upstream, o ProxyOptions) *Proxy {
	t.Helper()
	if o.Log == nil {
		o.Log = quiet()
	}
	p, err := NewProxy(u, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if transport, ok := p.pool.Load().transport.(*http.Transport); ok {
			transport.CloseIdleConnections()
		}
	})
	return p
}

func upstream(servers ...*url.URL) config.Upstream {
	return config.Upstream{Servers: servers, Timeout: time.Minute}
}

// serveProxy serves p, inside of what is around it, and returns where.
func serveProxy(t testing.TB, h http.Handler) string {
	t.Helper()
	l := loopback(t, config.Listener{})
	run(t, l, h, ServerOptions{})
	return "http://" + l.Addr().String()
}

// rules are those of a zone of a leaky bucket for each client, with so much burst, none of it delayed.
func rules(t testing.TB, burst uint64, change ...func(*config.HTTP)) *ruleset.Set {
	t.Helper()
	h := config.HTTP{
		ClientIP: config.ClientIP{IPv4Prefix: 32, IPv6Prefix: 64},
		Zones: []config.Zone{{
			Name: "perip", Key: []config.KeyPart{{Kind: config.KeyIP}}, Algorithm: config.Leaky,
			Quota: config.Quota{Count: 1, Per: time.Hour, Text: "1r/h"}, MaxKeys: 1000,
		}},
		Rules: []config.Rule{{
			Name: "all", Status: http.StatusTooManyRequests,
			Limits: []config.Use{{Burst: burst, Delay: burst, Cost: 1}},
		}},
	}
	for _, c := range change {
		c(&h)
	}
	set, err := ruleset.New(h)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// byForwardedFor charges the client that trusted proxies tell.
func byForwardedFor(trusted ...string) func(*config.HTTP) {
	return func(h *config.HTTP) {
		h.ClientIP.Header = forwardedFor
		h.ClientIP.TrustedProxies = prefixes(trusted...)
	}
}

func prefixes(s ...string) (p []netip.Prefix) {
	for _, s := range s {
		p = append(p, netip.MustParsePrefix(s))
	}
	return p
}

// authority makes certificates.
type authority struct {
	t    *testing.T
	dir  string
	made int64
}

// write makes a pair for name in the files of the authority's directory, and returns them.
func (a *authority) write(name string) config.TLS {
	a.t.Helper()
	certificate, key := a.pair(name)
	files := config.TLS{Certificate: filepath.Join(a.dir, "cert.pem"), Key: filepath.Join(a.dir, "key.pem")}
	writeFile(a.t, files.Certificate, certificate)
	writeFile(a.t, files.Key, key)
	return files
}

// pair makes a certificate for name, and its key.
func (a *authority) pair(name string) (certificate, key []byte) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.made++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.made),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// insecure is a client's TLS that takes any certificate.
func insecure() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

// pipes is a listener whose connections are in memory, so that a test can be in a bubble of package synctest.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// connect returns a new connection to p.
func (p *pipes) connect(t testing.TB) net.Conn {
	t.Helper()
	conn, err := p.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

package gateway

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
)

func TestProtocols(t *testing.T) {
	a := &authority{t: t, dir: t.TempDir()}
	files := a.write("h")
	proto := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto+" "+scheme(r)) })
	secure, plain := loopback(t, config.Listener{TLS: &files}), loopback(t, config.Listener{})
	run(t, secure, proto, ServerOptions{})
	run(t, plain, proto, ServerOptions{})
	h2c := new(http.Protocols)
	h2c.SetUnencryptedHTTP2(true)
	tests := map[string]struct {
		transport *http.Transport
		url       string
		want      string
	}{
		"TLS, HTTP/2":   {&http.Transport{TLSClientConfig: insecure(), ForceAttemptHTTP2: true}, "https://" + secure.Addr().String(), "HTTP/2.0 https"},
		"TLS, HTTP/1.1": {&http.Transport{TLSClientConfig: insecure(), TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}, "https://" + secure.Addr().String(), "HTTP/1.1 https"},
		"HTTP/1.1":      {&http.Transport{}, "http://" + plain.Addr().String(), "HTTP/1.1 http"},
		"h2c":           {&http.Transport{Protocols: h2c}, "http://" + plain.Addr().String(), "HTTP/2.0 http"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if g := do(t, client(t, tt.transport), http.MethodGet, tt.url, ""); g.body != tt.want {
				t.Errorf("%q, want %q", g.body, tt.want)
			}
		})
	}
}

// OPTIONS * is a request like others: net/http would answer it itself, and no limit would see it.
func TestOptionsOfTheServerReachTheHandler(t *testing.T) {
	plain := loopback(t, config.Listener{})
	run(t, plain, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }), ServerOptions{})
	conn, err := net.Dial("tcp", plain.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("%v, %v", res, err)
	}
}

func TestHeaderIsBounded(t *testing.T) {
	url := serveProxy(t, http.HandlerFunc(who))
	if g := do(t, client(t, &http.Transport{}), http.MethodGet, url, "", "A", strings.Repeat("a", 2*DefaultMaxHeaderBytes)); g.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", g.status)
	}
}

// A drain waits for requests under way, of both protocols, and takes no new connection.
func TestDrain(t *testing.T) {
	slow := func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Minute)
		_, _ = io.WriteString(w, "done")
	}
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				s := NewServer(ServerOptions{Handler: http.HandlerFunc(slow), Timeouts: limits(), Log: quiet()})
				wait := background(func() { _ = s.Serve(p) })
				c := p.client(t, http2)
				request := background(func() {
					if g := do(t, c, http.MethodGet, "http://h/", ""); g.body != "done" {
						t.Errorf("%q", g.body)
					}
				})
				synctest.Wait() // for the handler to sleep
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				if err := s.Shutdown(ctx); err != nil {
					t.Error(err)
				}
				if d := time.Since(began); d < time.Minute || d > time.Minute+2*time.Second {
					t.Errorf("drained in %v", d)
				}
				request()
				wait()
				if _, err := p.dial(ctx, "", ""); !errors.Is(err, net.ErrClosed) {
					t.Errorf("a new connection: %v", err)
				}
				c.CloseIdleConnections()
			})
		})
	}
}

// echoTunnel takes over the connection and sends back what it gets.
func echoTunnel(w http.ResponseWriter, _ *http.Request) {
	conn, both, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	_, _ = io.Copy(conn, both)
}

const askTunnel = "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"

// openTunnel asks for a tunnel and checks that it answers.
func openTunnel(t *testing.T, conn net.Conn) *bufio.Reader {
	t.Helper()
	if _, err := io.WriteString(conn, askTunnel); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	res, err := http.ReadResponse(r, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", res, err)
	}
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := r.ReadString('\n'); line != "hello\n" || err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	return r
}

// A lower bound closes what waits when the next connection comes.
func TestConnectionsAreBoundedAnew(t *testing.T) {
	bubble(t, who, func(t *testing.T, s *Server, p *pipes) {
		for range 5 {
			p.connect(t)
		}
		synctest.Wait()
		s.SetMaxConns(2)
		p.connect(t)
		synctest.Wait()
		if n := s.conns.len(); n != 2 {
			t.Errorf("%d connections, want 2", n)
		}
	})
}

// Those that have waited longest for a request make room.
func TestConnectionsAreBounded(t *testing.T) {
	l := loopback(t, config.Listener{})
	log := new(logged)
	run(t, l, http.HandlerFunc(who), ServerOptions{MaxConns: 3, Log: log.logger()})
	var slow []net.Conn
	for range 3 {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET / HT"); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, conn)
	}
	for range 2 {
		if g := do(t, client(t, &http.Transport{}), http.MethodGet, "http://"+l.Addr().String(), ""); g.status != http.StatusOK {
			t.Errorf("status %d", g.status)
		}
	}
	for i, conn := range slow[:2] {
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("slow connection %d is still open: %d bytes", i, n)
		}
	}
	if _, err := io.WriteString(slow[2], "TP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if res, err := http.ReadResponse(bufio.NewReader(slow[2]), nil); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("the last: %v", err)
	}
	if !strings.Contains(log.String(), "too many connections") {
		t.Errorf("the log has %q", log)
	}
}

// With no connection that waits, the new one goes.
func TestConnectionsAllAtWork(t *testing.T) {
	l := loopback(t, config.Listener{})
	run(t, l, http.HandlerFunc(echoTunnel), ServerOptions{MaxConns: 1})
	first, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	openTunnel(t, first)
	second, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if n, err := second.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes", n)
	}
}

// Streams that are reset as soon as they are opened (CVE-2023-44487) are requests like others.
func TestRapidResetIsCounted(t *testing.T) {
	const opened, burst = DefaultMaxStreams, 9
	set := rules(t, burst)
	l := loopback(t, config.Listener{})
	run(t, l, httplimit.New(set, httplimit.Options{})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	})), ServerOptions{})
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	f := startHTTP2(t, conn)
	for i := range uint32(opened) {
		id := 2*i + 1
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: getFields(t), EndHeaders: true, EndStream: true}); err != nil {
			t.Fatal(err)
		}
		if err := f.WriteRSTStream(id, http2.ErrCodeCancel); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.WritePing(false, [8]byte{1}); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := frame.(*http2.PingFrame); ok && p.IsAck() {
			break
		}
	}
	// Its handlers have been started, and may still be on their way to the limiter.
	for deadline := time.Now().Add(time.Minute); set.Counters().Requests < opened && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	c := set.Counters()
	if c.Requests != opened || c.Rules[0].Allowed != burst+1 || c.Rules[0].Refused != opened-burst-1 {
		t.Errorf("%+v: want %d requests, %d of them allowed", c, opened, burst+1)
	}
}

// startHTTP2 begins HTTP/2 on conn by prior knowledge.
func startHTTP2(t *testing.T, conn net.Conn) *http2.Framer {
	t.Helper()
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(conn, conn)
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return f
}

func getFields(t *testing.T) []byte {
	t.Helper()
	var b strings.Builder
	e := hpack.NewEncoder(&b)
	e.SetMaxDynamicTableSize(0)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "h"}, {":path", "/"}} {
		if err := e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			t.Fatal(err)
		}
	}
	return []byte(b.String())
}

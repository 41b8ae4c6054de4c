package gateway

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
)

func TestNewProxyErrors(t *testing.T) {
	for _, s := range []string{"", "ftp://h", "http://", "http://h/path", "h:80"} {
		u := config.Upstream{}
		if s != "" {
			u = upstream(parse(t, s))
		}
		if _, err := NewProxy(u, ProxyOptions{}); err == nil || !strings.Contains(err.Error(), "upstream: ") {
			t.Errorf("%q: error %v", s, err)
		}
	}
}

// What a server gets is what the client sent, but for what concerns connections, and with the client's address.
func TestRequestPassesThrough(t *testing.T) {
	type seen struct{ Method, URI, Host, Body, For, Proto, ForwardedHost, RealIP, Own, Hop string }
	var got seen
	server := backend(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = seen{r.Method, r.RequestURI, r.Host, string(body), r.Header.Get(forwardedFor), r.Header.Get(forwardedProto),
			r.Header.Get(forwardedHost), r.Header.Get(realIP), r.Header.Get("Own"), r.Header.Get("Hop")}
	})
	header := []string{"Host", "example.com", "Own", "mine", "Hop", "h", "Connection", "Hop, X-Forwarded-For",
		forwardedFor, "10.9.8.7", forwardedHost, "evil", forwardedProto, "gopher", realIP, "10.9.8.7", "Forwarded", "for=10.9.8.7"}
	const uri = "/a%2Fb//c?x=1;y=2&%zz&a=%20"
	tests := map[string]struct {
		preserve bool
		trusted  []string
		want     seen
	}{
		"stranger": {false, nil, seen{"POST", uri, server.Host, "body", "127.0.0.1", "http", "example.com", "", "mine", ""}},
		"trusted":  {true, []string{"127.0.0.0/8"}, seen{"POST", uri, "example.com", "body", "10.9.8.7, 127.0.0.1", "gopher", "evil", "10.9.8.7", "mine", ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			u := upstream(server)
			u.PreserveHost = tt.preserve
			at := serveProxy(t, newTestProxy(t, u, ProxyOptions{TrustedProxies: prefixes(tt.trusted...)}))
			if g := do(t, client(t, &http.Transport{}), http.MethodPost, at+uri, "body", header...); g.status != http.StatusOK {
				t.Fatalf("status %d: %s", g.status, g.body)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// What limits cannot see as the server would, and what would go elsewhere than to the server, is not passed on.
func TestTargetsThatAreRefused(t *testing.T) {
	at := serveProxy(t, newTestProxy(t, upstream(backend(t, who)), ProxyOptions{}))
	for line, want := range map[string]int{
		"CONNECT internal:22":       http.StatusMethodNotAllowed,
		"GET x:login":               http.StatusBadRequest,
		"GET http:%2Flogin":         http.StatusBadRequest,
		"GET http://internal/login": http.StatusOK,
		"GET //internal/login":      http.StatusOK,
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, line+" HTTP/1.1\r\nHost: internal:22\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || res.StatusCode != want {
			t.Errorf("%s: %v, %v; want %d", line, res, err, want)
		}
	}
}

// net/http panics where a status is passed on that is none.
func TestStatusThatIsNone(t *testing.T) {
	for _, status := range []string{"000", "099"} {
		server, err := url.Parse("http://" + saying(t, "HTTP/1.1 "+status+" ?\r\nContent-Length: 0\r\n\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		var observed []int
		at := serveProxy(t, newTestProxy(t, upstream(server), ProxyOptions{
			Observe: func(status int, _ time.Duration) { observed = append(observed, status) },
		}))
		if g := do(t, client(t, &http.Transport{}), http.MethodPost, at, ""); g.status != http.StatusBadGateway {
			t.Errorf("%s: status %d", status, g.status)
		}
		if d := cmp.Diff([]int{http.StatusBadGateway}, observed); d != "" {
			t.Errorf("%s: %s", status, d)
		}
	}
}

// saying returns the address of a server that answers whatever it is asked with text.
func saying(t *testing.T, text string) string {
	t.Helper()
	l := loopback(t, config.Listener{})
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.WriteString(conn, text)
			}
			conn.Close()
		}
	}()
	return l.Addr().String()
}

// Events come one by one, and trailers after them. The client leaving ends the server's request.
func TestEvents(t *testing.T) {
	next, left := make(chan bool), make(chan bool)
	server := backend(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Trailer", "Sum")
		for range 2 {
			_, _ = io.WriteString(w, "data: x\n")
			_ = http.NewResponseController(w).Flush()
			<-next
		}
		w.Header().Set("Sum", "2")
		if r.URL.Path == "/endless" {
			<-r.Context().Done()
			close(left)
		}
	})
	p := newTestProxy(t, upstream(server), ProxyOptions{})
	at := serveProxy(t, p)
	open := func(path string) (*http.Response, context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, at+path, nil)
		res, err := client(t, &http.Transport{}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		events := bufio.NewReader(res.Body)
		for range 2 {
			if line, err := events.ReadString('\n'); line != "data: x\n" || err != nil {
				t.Fatalf("%q, %v", line, err)
			}
			next <- true
		}
		if path == "/" {
			_, _ = io.Copy(io.Discard, events)
		}
		return res, cancel
	}
	res, cancel := open("/")
	if sum := res.Trailer.Get("Sum"); sum != "2" {
		t.Errorf("trailer %q", sum)
	}
	cancel()
	res.Body.Close()
	res, cancel = open("/endless")
	if n := p.InFlight(); n != 1 {
		t.Errorf("%d in flight", n)
	}
	cancel()
	res.Body.Close()
	<-left
}

func TestWebsockets(t *testing.T) {
	p := newTestProxy(t, upstream(backend(t, echoTunnel)), ProxyOptions{})
	at := serveProxy(t, httplimit.New(rules(t, 10), httplimit.Options{})(p))
	conn, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := openTunnel(t, conn)
	if s := p.Servers()[0]; s.InFlight != 1 {
		t.Errorf("%+v", s)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

// The fields of our limits are there after 103 Early Hints, which clears them, and are not doubled by a server that has its own.
func TestFieldsOfLimits(t *testing.T) {
	server := backend(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		for _, name := range []string{"Ratelimit-Limit", "X-Ratelimit-Remaining", "Ratelimit-Policy", "Ratelimit"} {
			w.Header().Set(name, "theirs")
		}
	})
	tests := map[config.HeaderStyle]map[string][]string{
		config.HeadersDraft10:    {"Ratelimit": {`"perip";r=9;t=3600`, "theirs"}, "Ratelimit-Limit": {"theirs"}},
		config.HeadersPolli:      {"Ratelimit-Limit": {"10"}, "X-Ratelimit-Remaining": {"theirs"}},
		config.HeadersXRateLimit: {"X-Ratelimit-Remaining": {"9"}, "X-Ratelimit-Limit": {"10"}, "Ratelimit-Limit": {"theirs"}},
		config.HeadersOff:        {"Ratelimit-Limit": {"theirs"}, "Ratelimit": {"theirs"}},
	}
	for style, want := range tests {
		t.Run(string(style), func(t *testing.T) {
			o := httplimit.Options{Headers: style, Clock: func() time.Duration { return time.Hour }}
			at := serveProxy(t, httplimit.New(rules(t, 9), o)(newTestProxy(t, upstream(server), ProxyOptions{})))
			hints := 0
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				Got1xxResponse: func(code int, h textproto.MIMEHeader) error { hints++; return nil },
			})
			r, _ := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
			res, err := client(t, &http.Transport{}).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if hints != 1 {
				t.Errorf("%d responses of 1xx", hints)
			}
			for name, values := range want {
				if d := cmp.Diff(values, res.Header[name]); d != "" {
					t.Errorf("%s: %s", name, d)
				}
			}
		})
	}
}

// They are also there where the server breaks off after 103.
func TestFieldsOfLimitsOfAFailure(t *testing.T) {
	server := backend(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		panic(http.ErrAbortHandler)
	})
	o := httplimit.Options{Headers: config.HeadersXRateLimit}
	at := serveProxy(t, httplimit.New(rules(t, 9), o)(newTestProxy(t, upstream(server), ProxyOptions{})))
	g := do(t, client(t, &http.Transport{}), http.MethodPost, at, "")
	if g.status != http.StatusBadGateway || g.header.Get("X-Ratelimit-Remaining") != "9" {
		t.Errorf("%+v", g)
	}
}

package gateway

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// still is a clock that stands.
func still() time.Duration { return time.Hour }

func stillOptions() httplimit.Options { return httplimit.Options{Clock: still} }

// clientRequest is a request of a client to a gateway.
type clientRequest struct {
	peer, method, host, uri string
	header                  http.Header
}

// nginx returns what nginx asks about c.
func (c clientRequest) nginx() *http.Request {
	r := httptest.NewRequest(http.MethodGet, NginxPath, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:1", "headgate"
	r.Header = c.header.Clone()
	for name, value := range map[string]string{nginxPeer: c.peer, nginxMethod: c.method, nginxHost: c.host, nginxURI: c.uri} {
		r.Header.Set(name, value)
	}
	return r
}

// forward returns what Traefik or Caddy ask about c.
func (c clientRequest) forward() *http.Request {
	r := httptest.NewRequest(http.MethodGet, ForwardPath, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:1", "headgate"
	r.Header = c.header.Clone()
	peers := append(slices.Clone(r.Header[forwardedFor]), c.peer)
	r.Header.Set(forwardedFor, strings.Join(peers, ", "))
	for name, value := range map[string]string{forwardedMethod: c.method, forwardedHost: c.host, forwardedURI: c.uri, forwardedProto: "https"} {
		r.Header.Set(name, value)
	}
	return r
}

// direct returns c as the proxy gets it.
func (c clientRequest) direct() *http.Request {
	r := httptest.NewRequest(c.method, c.uri, nil)
	r.RemoteAddr, r.Host, r.Header = net.JoinHostPort(c.peer, "1"), c.host, c.header.Clone()
	return r
}

// The same requests through the proxy and the auth fronts are decided alike, and answered with the same fields and bodies.
func TestFrontsAgree(t *testing.T) {
	configure := func(h *config.HTTP) {
		byForwardedFor("10.0.0.0/8")(h)
		h.Zones[0].Key = append(h.Zones[0].Key, config.KeyPart{Kind: config.KeyHost}, config.KeyPart{Kind: config.KeyQuery, Name: "q"})
		h.Rules = append([]config.Rule{{
			Name: "posts", Match: config.Match{Method: []string{"POST"}, Path: config.Pattern{Prefix: "/login"}},
			Status: http.StatusServiceUnavailable, Limits: []config.Use{{Cost: 1}},
		}}, h.Rules...)
	}
	passed := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	fresh := func() *ruleset.Set { return rules(t, 1, configure) }
	rapid.Check(t, func(t *rapid.T) {
		proxy := httplimit.New(fresh(), stillOptions())(passed)
		nginx := NewAuth(fresh(), AuthOptions{Limit: stillOptions(), Gateways: prefixes("127.0.0.0/8")})
		forward := NewAuth(fresh(), AuthOptions{Limit: stillOptions(), Gateways: prefixes("127.0.0.0/8")})
		address := rapid.SampledFrom([]string{"203.0.113.7", "2001:db8::1", "10.1.2.3", "10.9.9.9", "198.51.100.1"})
		for range rapid.IntRange(1, 8).Draw(t, "requests") {
			c := clientRequest{
				peer:   address.Draw(t, "peer"),
				method: rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, "method"),
				host:   rapid.SampledFrom([]string{"a.example", "b.example:8080"}).Draw(t, "host"),
				uri:    rapid.SampledFrom([]string{"/", "/login", "/login?q=1&q=2", "//login/..%2f?q=%31", "/%6cogin"}).Draw(t, "uri"),
				header: http.Header{"Accept": {rapid.SampledFrom([]string{"*/*", "application/json"}).Draw(t, "accept")}},
			}
			if before := rapid.SliceOfN(address, 0, 2).Draw(t, "forwarded for"); len(before) > 0 {
				c.header.Set(forwardedFor, strings.Join(before, ", "))
			}
			want := answer(proxy, c.direct())
			got := answer(forward, c.forward())
			got.header.Del("Content-Length") // the middleware leaves it to net/http
			if want.status == 0 {
				want.status = http.StatusOK
			}
			if d := cmp.Diff(want, got, cmp.AllowUnexported(got)); d != "" {
				t.Errorf("forward-auth: %s", d)
			}
			checkNginx(t, want, answer(nginx, c.nginx()))
		}
	})
}

func checkNginx(t *rapid.T, want, got got) {
	for _, name := range []string{"Ratelimit", "Ratelimit-Policy", "Retry-After", "Cache-Control"} {
		if d := cmp.Diff(want.header[name], got.header[name]); d != "" {
			t.Errorf("nginx: %s: %s", name, d)
		}
	}
	if want.status == http.StatusOK {
		if got.status != http.StatusOK || got.header.Get(nginxStatus) != "" {
			t.Errorf("nginx: status %d, %q", got.status, got.header.Get(nginxStatus))
		}
		return
	}
	if got.status != http.StatusForbidden || got.header.Get(nginxStatus) != fmt.Sprint(want.status) ||
		got.header.Get(nginxBody) != strings.TrimSpace(want.body) || got.body != "" {
		t.Errorf("nginx: %+v, want %+v", got, want)
	}
}

// The connection is the gateway's, and the peer its client.
func TestConnIsTheGateways(t *testing.T) {
	var asked []ruleset.Request
	spy := spying{rules(t, 100), &asked}
	a := NewAuth(spy, AuthOptions{Limit: stillOptions(), Gateways: prefixes("127.0.0.0/8"), Log: quiet()})
	c := clientRequest{"203.0.113.7", "GET", "h", "/", http.Header{}}
	overUnix, told := c.nginx(), c.nginx()
	overUnix.RemoteAddr = "@"
	told.RemoteAddr = "203.0.113.99:1"
	told = told.WithContext(clientip.WithConn(t.Context(), netip.MustParseAddr("127.0.0.2")))
	c.peer = "unix:"
	unixPeer := c.nginx()
	for _, r := range []*http.Request{c.nginx(), overUnix, told, unixPeer} {
		if g := answer(a, r); g.status != http.StatusOK {
			t.Errorf("%+v", g)
		}
	}
	var got []string
	for _, r := range asked {
		got = append(got, fmt.Sprintf("%s via %s", r.Peer, r.Conn))
	}
	want := []string{"invalid IP via 127.0.0.1", "203.0.113.7 via invalid IP", "203.0.113.7 via 127.0.0.2", "invalid IP via 127.0.0.1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// spying notes what is asked.
type spying struct {
	ruleset.Decider
	asked *[]ruleset.Request
}

func (s spying) Decide(r *ruleset.Request, now time.Duration) *ruleset.Decision {
	*s.asked = append(*s.asked, *r)
	return s.Decider.Decide(r, now)
}

func TestOnlyGatewaysMayAsk(t *testing.T) {
	set, log := rules(t, 0), new(logged)
	a := NewAuth(set, AuthOptions{Gateways: prefixes("127.0.0.0/8", "fe80::/10"), Log: log.logger()})
	c := clientRequest{"203.0.113.7", "GET", "h", "/", http.Header{}}
	for i, from := range []string{"192.0.2.1:1", "[2001:db8::1]:1", "192.0.2.1:2"} {
		r := c.nginx()
		r.RemoteAddr = from
		if g := answer(a, r); g.status != http.StatusForbidden || g.header.Get(nginxStatus) != "" {
			t.Errorf("%s: %+v", from, g)
		}
		if n := a.Strangers(); n != uint64(i+1) {
			t.Errorf("%d strangers", n)
		}
	}
	if n := set.Counters().Requests; n != 0 || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("%d were decided about; log: %s", n, log)
	}
	r := c.nginx()
	r.RemoteAddr = "[fe80::1%eth0]:1"
	if g := answer(a, r); g.status != http.StatusOK {
		t.Errorf("%+v", g)
	}
}

// A gateway that does not say what it has to gets a 500 that says what is missing, and nobody is charged.
func TestGatewaysMustTell(t *testing.T) {
	set := rules(t, 0)
	a := NewAuth(set, AuthOptions{Gateways: prefixes("127.0.0.0/8"), Log: quiet()})
	good := clientRequest{"203.0.113.7", "GET", "h", "/", http.Header{}}
	for name, tt := range map[string]struct {
		change func(*http.Request)
		want   string
	}{
		"peer":       {func(r *http.Request) { r.Header.Del(nginxPeer); r.Header.Del(forwardedFor) }, "does not say who the request is from"},
		"wrong peer": {func(r *http.Request) { r.Header.Set(nginxPeer, "me"); r.Header.Set(forwardedFor, "1.2.3.4, me") }, `from "me", which is no address`},
		"method":     {func(r *http.Request) { r.Header.Del(nginxMethod); r.Header.Del(forwardedMethod) }, "the request's method"},
		"opaque uri": {func(r *http.Request) { r.Header.Set(nginxURI, "x:login"); r.Header.Set(forwardedURI, "x:login") }, `"x:login" is neither a path`},
		"uri":        {func(r *http.Request) { r.Header.Del(nginxURI); r.Header.Del(forwardedURI) }, "what is requested"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []*http.Request{good.nginx(), good.forward()} {
				tt.change(r)
				if g := answer(a, r); g.status != http.StatusInternalServerError || !strings.Contains(g.body, tt.want) {
					t.Errorf("%+v", g)
				}
			}
		})
	}
	if n := set.Counters().Requests; n != 0 {
		t.Errorf("%d were decided about", n)
	}
}

// The body of a refused HEAD is there for the gateway, whose own request is a GET.
func TestRefusedHead(t *testing.T) {
	at := serveProxy(t, NewAuth(rules(t, 0), AuthOptions{Gateways: prefixes("127.0.0.0/8")}))
	c := client(t, &http.Transport{})
	ask := func() got {
		return do(t, c, http.MethodGet, at+ForwardPath, "", forwardedFor, "203.0.113.7", forwardedMethod, "HEAD", forwardedURI, "/")
	}
	ask()
	g := ask()
	var problem struct{ Status int }
	if err := json.Unmarshal([]byte(g.body), &problem); err != nil || problem.Status != g.status || g.status != http.StatusTooManyRequests {
		t.Errorf("%+v, %v", g, err)
	}
}

// What the gateway added is taken away, and nothing else: with `hops` another value would be the client.
func TestCutLast(t *testing.T) {
	tests := []struct {
		lines []string
		peer  string
		left  []string
	}{
		{nil, "", nil},
		{[]string{"203.0.113.7"}, "203.0.113.7", nil},
		{[]string{"198.51.100.1, 203.0.113.7"}, "203.0.113.7", []string{"198.51.100.1"}},
		{[]string{"198.51.100.1,"}, "", []string{"198.51.100.1"}},
		{[]string{"198.51.100.1, 10.0.0.1", "203.0.113.7"}, "203.0.113.7", []string{"198.51.100.1, 10.0.0.1"}},
		{[]string{"a", "b,\t203.0.113.7 "}, "203.0.113.7", []string{"a", "b"}},
	}
	for _, tt := range tests {
		h := http.Header{}
		if tt.lines != nil {
			h[forwardedFor] = tt.lines
		}
		if peer := cutLast(h); peer != tt.peer {
			t.Errorf("%q: peer %q", tt.lines, peer)
		}
		if d := cmp.Diff(tt.left, h[forwardedFor]); d != "" {
			t.Errorf("%q: %s", tt.lines, d)
		}
	}
}

package gateway

import (
	"maps"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/gateway/internal/peers"
)

// Whatever a client writes into fields, through any trusted proxies, the server and the limiter agree
// about who it is: nobody passes for another, and a stranger's word does not reach the server.
func TestCase03ForwardedForCannotBeForged(t *testing.T) {
	trusted := prefixes("10.0.0.0/8")
	p := newTestProxy(t, upstream(servers(t, "s")...), ProxyOptions{TrustedProxies: trusted})
	options := clientip.Options{Header: forwardedFor, TrustedProxies: trusted}
	limiter, err := clientip.New(options)
	if err != nil {
		t.Fatal(err)
	}
	// The server trusts what its proxies write, and headgate is one of them.
	options.TrustedProxies = append(slices.Clone(trusted), netip.MustParsePrefix("192.0.2.1/32"))
	server, err := clientip.New(options)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.SampledFrom([]string{"203.0.113.7", "2001:db8::7", "10.1.2.3", "10.4.5.6", "198.51.100.1"})
		forged := rapid.SliceOfN(rapid.OneOf(host, rapid.SampledFrom([]string{"", "unknown", "10.1.2.3:80", "::ffff:10.1.2.3", "[", "a,b", "\"x"})), 0, 4)
		peer := netip.MustParseAddr(host.Draw(t, "peer"))
		in := sent("GET", "")
		in.RemoteAddr = netip.AddrPortFrom(peer, 1).String()
		for range rapid.IntRange(0, 2).Draw(t, "lines") {
			in.Header.Add(forwardedFor, strings.Join(forged.Draw(t, "values"), ","))
		}
		in.Header.Set(realIP, "198.51.100.1")
		in.Header.Set(forwardedHost, "evil")
		out := &http.Request{Header: http.Header{realIP: {"198.51.100.1"}}}
		p.forward(&httputil.ProxyRequest{In: in, Out: out})
		want := limiter.Client(peer, in.Header)
		if got := server.Client(netip.MustParseAddr("192.0.2.1"), out.Header); got.Addr != want.Addr {
			t.Errorf("the server takes it for %v, the limiter for %v: %q became %q", got, want, in.Header[forwardedFor], out.Header[forwardedFor])
		}
		if peers.Among(trusted, peer) {
			return
		}
		if d := out.Header; d.Get(forwardedFor) != peer.String() || d.Get(realIP) != "" || d.Get(forwardedHost) != in.Host {
			t.Errorf("a stranger's word reaches the server: %v", d)
		}
	})
}

func TestForwardedOfUnixPeers(t *testing.T) {
	for trusts, want := range map[bool]string{false: "", true: "203.0.113.7"} {
		p := newTestProxy(t, upstream(servers(t, "s")...), ProxyOptions{TrustUnix: trusts})
		in := sent("GET", "")
		in.RemoteAddr = "@"
		in.Header.Set(forwardedFor, "203.0.113.7")
		out := &http.Request{Header: http.Header{}}
		p.forward(&httputil.ProxyRequest{In: in, Out: out})
		if got := out.Header.Get(forwardedFor); got != want {
			t.Errorf("trusted %v: %q, want %q", trusts, got, want)
		}
	}
}

// Servers that name fields as CGI does cannot tell an underscore from a hyphen, nor PHP a dot.
func TestTwinsOfForwardedFieldsAreRemoved(t *testing.T) {
	for _, peer := range []string{"203.0.113.7:1", "10.1.2.3:1"} {
		p := newTestProxy(t, upstream(servers(t, "s")...), ProxyOptions{TrustedProxies: prefixes("10.0.0.0/8")})
		in := sent("GET", "")
		in.RemoteAddr = peer
		out := &http.Request{Header: http.Header{"User_id": {"7"}}}
		for _, name := range []string{"X_Forwarded_For", "X-Forwarded_For", "x_forwarded_host", "X_FORWARDED-PROTO", "X_Real_IP", "X.Forwarded.For", "X_Real.IP"} {
			out.Header.Add(name, "198.51.100.1")
		}
		p.forward(&httputil.ProxyRequest{In: in, Out: out})
		names := slices.Sorted(maps.Keys(out.Header))
		if want := []string{"User_id", forwardedFor, forwardedHost, forwardedProto}; !slices.Equal(names, want) {
			t.Errorf("of %s: %q, want %q", peer, names, want)
		}
	}
}

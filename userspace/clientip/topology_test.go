package clientip_test

import (
	"net/http"
	"testing"

	"github.com/headgate/headgate/userspace/clientip"
)

// The client of all topologies, what he forges, and who is none of them.
const (
	client = "203.0.113.7"
	victim = "198.51.100.66"
)

// topology is a way that requests come, and what the headers look like that its
// proxies make of what a client sends.
type topology struct {
	name    string
	options clientip.Options
	peer    string
	header  http.Header
	want    string
	reason  clientip.Reason
	hop     int
}

// xff returns a header with the lines of X-Forwarded-For.
func xff(lines ...string) http.Header { return http.Header{"X-Forwarded-For": lines} }

// TestCase04Topologies has the ways that people put proxies in front, each with a
// client that forges what he can.
func TestCase04Topologies(t *testing.T) {
	gclb := clientip.Options{Header: "X-Forwarded-For", Hops: 2, TrustedProxies: prefixes("130.211.0.0/22", "35.191.0.0/16")}
	cloudfront := clientip.Options{Header: "X-Forwarded-For", Hops: 2, TrustedProxies: prefixes("10.0.0.0/8")}
	nginx := clientip.Options{Header: "X-Forwarded-For", TrustedProxies: prefixes("10.0.0.0/8", "fd00::/8")}
	cloudflare := clientip.Options{Header: "CF-Connecting-IP", TrustedProxies: prefixes("173.245.48.0/20", "2400:cb00::/32")}
	realIP := clientip.Options{Header: "X-Real-Ip", TrustedProxies: prefixes("10.0.0.0/8")}
	forwarded := clientip.Options{Header: "Forwarded", TrustedProxies: prefixes("10.0.0.0/8", "2001:db8:ffff::/48")}
	local := clientip.Options{Header: "X-Forwarded-For", TrustUnix: true}
	for _, test := range []topology{
		{"no proxy", clientip.Options{}, client, xff(victim), client, clientip.FromPeer, 0},

		// Google's load balancer appends the client and itself.
		{"gclb", gclb, "130.211.0.9", xff(client + ", 34.120.0.1"), client, clientip.FromHeader, 2},
		{"gclb, forged", gclb, "130.211.0.9", xff(victim + "," + client + ", 34.120.0.1"), client, clientip.FromHeader, 2},
		{"gclb, IPv6", gclb, "130.211.0.9", xff("2001:db8::7, 2600:1901::1"), "2001:db8::7", clientip.FromHeader, 2},
		{"gclb bypassed", gclb, client, xff(victim + ", 34.120.0.1"), client, clientip.UntrustedPeer, 0},

		// CloudFront appends the client, the balancer behind it CloudFront.
		{"cloudfront", cloudfront, "10.0.1.5", xff(client + ", 130.176.0.9"), client, clientip.FromHeader, 2},
		{"cloudfront, forged", cloudfront, "10.0.1.5", xff(victim + ", " + client + ", 130.176.0.9"), client, clientip.FromHeader, 2},
		{"cloudfront bypassed", cloudfront, "10.0.1.5", xff(client), client, clientip.TooFewHops, 1},
		{"health check of the balancer", cloudfront, "10.0.1.5", nil, "10.0.1.5", clientip.NoHeader, 0},

		// nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for.
		{"nginx", nginx, "10.0.0.1", xff(client), client, clientip.FromHeader, 1},
		{"nginx, forged", nginx, "10.0.0.1", xff(victim + ", " + client), client, clientip.FromHeader, 1},
		{"nginx chain", nginx, "10.0.0.1", xff(victim + ", " + client + ", 10.0.0.2, fd00::3"), client, clientip.FromHeader, 3},
		{"nginx chain, forged proxies", nginx, "10.0.0.1", xff("10.0.0.9, 10.0.0.8, " + client + ", 10.0.0.2"), client, clientip.FromHeader, 2},
		{"nginx bypassed", nginx, client, xff(victim), client, clientip.UntrustedPeer, 0},
		{"a client inside", nginx, "10.0.0.1", xff("10.7.7.7, 10.0.0.2"), "10.7.7.7", clientip.AllTrusted, 2},
		{"nginx on a dual-stack socket", nginx, "::ffff:10.0.0.1", xff(client), client, clientip.FromHeader, 1},
		{"nginx on a unix socket", local, "", xff(victim + ", " + client), client, clientip.FromHeader, 1},
		{"two on unix sockets", local, "", xff(client + ", unix:"), client, clientip.FromHeader, 2},
		{"only unix sockets", local, "", xff("unix:"), "", clientip.AllTrusted, 0},
		{"a unix socket that is not trusted", nginx, "", xff(client), "", clientip.UntrustedPeer, 0},
		{"unix: from one who is not trusted", nginx, "10.0.0.1", xff(client + ", unix:"), "10.0.0.1", clientip.Malformed, 0},

		// Traefik drops what untrusted clients send; HAProxy adds a line.
		{"traefik", nginx, "10.0.0.3", xff(client), client, clientip.FromHeader, 1},
		{"haproxy, forged", nginx, "10.0.0.4", xff(victim, client), client, clientip.FromHeader, 1},
		{"haproxy behind nginx", nginx, "10.0.0.4", xff(victim+", "+client, "10.0.0.1"), client, clientip.FromHeader, 2},
		{"azure writes a port", nginx, "10.0.0.5", xff(victim + ", " + client + ":50123"), client, clientip.FromHeader, 1},

		{"cloudflare", cloudflare, "173.245.48.9", http.Header{"Cf-Connecting-Ip": {client}}, client, clientip.FromHeader, 1},
		{"cloudflare, forged beside", cloudflare, "173.245.48.9",
			http.Header{"Cf-Connecting-Ip": {client}, "X-Forwarded-For": {victim}, "X-Real-Ip": {victim}}, client, clientip.FromHeader, 1},
		{"cloudflare bypassed", cloudflare, client, http.Header{"Cf-Connecting-Ip": {victim}}, client, clientip.UntrustedPeer, 0},
		{"X-Real-IP", realIP, "10.0.0.1", http.Header{"X-Real-Ip": {client}}, client, clientip.FromHeader, 1},
		{"X-Real-IP added to a forged one", realIP, "10.0.0.1", http.Header{"X-Real-Ip": {victim, client}}, client, clientip.FromHeader, 1},
		{"X-Real-IP of a client inside", realIP, "10.0.0.1", http.Header{"X-Real-Ip": {victim + ", 10.7.7.7"}}, "10.7.7.7", clientip.FromHeader, 1},

		{"Forwarded", forwarded, "10.0.0.1", http.Header{"Forwarded": {"for=" + client + ";proto=https"}}, client, clientip.FromHeader, 1},
		{"Forwarded, forged", forwarded, "10.0.0.1",
			http.Header{"Forwarded": {`for="` + victim, `for=` + victim + `, for="[2001:db8:a::1]:4711";host="a, for=` + victim + `", For="[2001:db8:ffff::2]"`}},
			"2001:db8:a::1", clientip.FromHeader, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := mustNew(t, test.options).Client(addr(test.peer), test.header)
			want := clientip.Client{Addr: addr(test.want), Reason: test.reason, Hop: test.hop}
			if got != want {
				t.Errorf("charged %+v, want %+v", got, want)
			}
		})
	}
}

// TestCase01NoHeaderIsBelieved shows that a client who sends every header that
// any software believes is still himself.
func TestCase01NoHeaderIsBelieved(t *testing.T) {
	forged := http.Header{}
	for _, name := range []string{"X-Forwarded-For", "X-Real-IP", "Forwarded", "CF-Connecting-IP", "True-Client-IP", "X-Client-IP"} {
		forged.Set(name, victim)
	}
	forged.Set("Forwarded", "for="+victim)
	trusted := prefixes("10.0.0.0/8")
	for _, o := range []clientip.Options{
		{},
		{Header: "X-Forwarded-For", TrustedProxies: trusted},
		{Header: "X-Forwarded-For", TrustedProxies: trusted, Hops: 1},
		{Header: "Forwarded", TrustedProxies: trusted},
		{Header: "X-Real-IP", TrustedProxies: trusted},
		{Header: "CF-Connecting-IP", TrustUnix: true},
	} {
		if got := mustNew(t, o).Client(addr(client), forged); got.Addr != addr(client) || got.Hop != 0 {
			t.Errorf("%+v: charged %+v, want the peer %s", o, got, client)
		}
	}
}

// TestCase18TheChoiceIsTold shows that what is charged, and why, can be printed.
func TestCase18TheChoiceIsTold(t *testing.T) {
	r := mustNew(t, clientip.Options{Header: "X-Forwarded-For", TrustedProxies: prefixes("10.0.0.0/8")})
	got := r.Client(addr("10.0.0.1"), xff("2001:db8:1:2:3::4, 10.0.0.2"))
	if got.Reason != "header" || got.Hop != 2 {
		t.Errorf("%+v; want value 2 of the header", got)
	}
	key := clientip.AppendPart(r.AppendKey(nil, got.Addr), "/login")
	if text, want := clientip.Describe(string(key)), "2001:db8:1:2::/64, /login"; text != want {
		t.Errorf("key %q, want %q", text, want)
	}
}

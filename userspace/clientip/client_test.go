package clientip_test

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/clientip"
)

// TestForwarded has the values of Forwarded, as the last hop wrote them.
func TestForwarded(t *testing.T) {
	r := mustNew(t, clientip.Options{Header: "Forwarded", TrustedProxies: prefixes("10.0.0.0/8")})
	for value, want := range map[string]string{
		`for=192.0.2.43`:                                 "192.0.2.43",
		`For="192.0.2.43:4711"`:                          "192.0.2.43",
		`for=192.0.2.43:4711`:                            "192.0.2.43",
		`FOR="[2001:db8:cafe::17]:4711"`:                 "2001:db8:cafe::17",
		`for="[2001:db8:cafe::17]"`:                      "2001:db8:cafe::17",
		`for=[2001:db8:cafe::17]:4711`:                   "2001:db8:cafe::17",
		`for="[2001:db8::1%eth0]:_port"`:                 "2001:db8::1",
		`for="[::ffff:192.0.2.43]"`:                      "192.0.2.43",
		`for=192.0.2.60;proto=http;by=203.0.113.43`:      "192.0.2.60",
		`by=_a;host="a;for=198.51.100.1";for=192.0.2.60`: "192.0.2.60",
		` proto=https ; for=192.0.2.60 ; `:               "192.0.2.60",
		`;for=192.0.2.60;`:                               "192.0.2.60",
		`for=198.51.100.1, for=192.0.2.60`:               "192.0.2.60",
		`host="\", for=198.51.100.1;\\",for=192.0.2.60`:  "192.0.2.60",
		`for=192.0.2.60;host="\", for=198.51.100.1;\\"`:  "192.0.2.60",
		`for=192.0.2.60;host=", for=198.51.100.1, "`:     "192.0.2.60",
		`" , for=192.0.2.60`:                             "192.0.2.60",
		`for=_hidden`:                                    "",
		`for=unknown`:                                    "",
		`for="_gazonk:80"`:                               "",
		`for=198.51.100.1, for=unknown`:                  "",
		`for=198.51.100.1, proto=https`:                  "",
		`for=198.51.100.1,`:                              "",
		`for=198.51.100.1;for=198.51.100.2`:              "",
		`for="198.51.100.1`:                              "",
		`for=198.51.100.1"`:                              "",
		`for="198.51.100.1"x`:                            "",
		`for="198.51.100\.1"`:                            "",
		`for=198.51.100.1;host=a\b`:                      "",
		`for=198.51.100.1;host="a`:                       "",
		`for=198.51.100.1;=a`:                            "",
		`for=198.51.100.1;a b=c`:                         "",
		`for=198.51.100.1;a=b"c"`:                        "",
		`for=198.51.100.1;a`:                             "",
		`for=198.51.100.1;a=`:                            "",
		`for =198.51.100.1`:                              "",
		`for= 198.51.100.1`:                              "",
		`198.51.100.1`:                                   "",
		`for`:                                            "",
		`for=`:                                           "",
		`for=""`:                                         "",
		`"`:                                              "",
		`\"`:                                             "",
		``:                                               "",
		`for=198.51.100.1;x="` + strings.Repeat("y", 1024):   "",
		`for=192.0.2.1;x=` + strings.Repeat("y", 1024-16):    "192.0.2.1",
		`,for=192.0.2.1;x=` + strings.Repeat("y", 1024-16):   "192.0.2.1",
		`for=198.51.100.1;x=` + strings.Repeat("y", 1025-19): "",
	} {
		want := clientip.Client{Addr: addr(want), Reason: clientip.FromHeader, Hop: 1}
		if !want.Addr.IsValid() {
			want = clientip.Client{Addr: addr("10.0.0.1"), Reason: clientip.Malformed}
		}
		if got := r.Client(addr("10.0.0.1"), http.Header{"Forwarded": {value}}); got != want {
			t.Errorf("%.80q: charged %+v, want %+v", value, got, want)
		}
	}
}

// TestLastTrustworthyHop has headers that are not as they should be: the client
// is then who the last trusted hop saw.
func TestLastTrustworthyHop(t *testing.T) {
	const peer = "10.0.0.1"
	walk := clientip.Options{Header: "X-Forwarded-For", TrustedProxies: prefixes("10.0.0.0/8")}
	count := clientip.Options{Header: "X-Forwarded-For", Hops: 3}
	elements := clientip.Options{Header: "Forwarded", Hops: 2}
	local := clientip.Options{Header: "X-Forwarded-For", Hops: 1, TrustUnix: true}
	single := clientip.Options{Header: "X-Real-IP", Hops: 1}
	for _, test := range []topology{
		{"no header", walk, peer, nil, peer, clientip.NoHeader, 0},
		{"empty", walk, peer, xff(""), peer, clientip.Malformed, 0},
		{"last line is empty", walk, peer, xff(victim, ""), peer, clientip.Malformed, 0},
		{"last value is empty", walk, peer, xff(victim + ", "), peer, clientip.Malformed, 0},
		{"no address", walk, peer, xff("localhost"), peer, clientip.Malformed, 0},
		{"no address behind one", walk, peer, xff(victim + ", unknown"), peer, clientip.Malformed, 0},
		{"no address before a proxy", walk, peer, xff(victim + ", unknown, 10.0.0.2"), "10.0.0.2", clientip.Malformed, 1},
		{"empty before a proxy", walk, peer, xff(victim + ",,10.0.0.2"), "10.0.0.2", clientip.Malformed, 1},
		{"empty line before a proxy", walk, peer, xff(victim, "", "10.0.0.2"), "10.0.0.2", clientip.Malformed, 1},
		{"empty at the start of a line", walk, peer, xff(victim, ",10.0.0.2"), "10.0.0.2", clientip.Malformed, 1},
		{"only proxies", walk, peer, xff("10.0.0.3", "10.0.0.2"), "10.0.0.3", clientip.AllTrusted, 2},
		{"64 proxies", walk, peer, xff(strings.Repeat("10.0.0.9,", 63) + "10.0.0.2"), "10.0.0.9", clientip.TooManyHops, 64},
		{"65 values", walk, peer, xff(victim + strings.Repeat(",10.0.0.9", 64)), "10.0.0.9", clientip.TooManyHops, 64},
		{"64 values", walk, peer, xff(victim + strings.Repeat(",10.0.0.9", 63)), victim, clientip.FromHeader, 64},

		{"hops: no header", count, client, nil, client, clientip.NoHeader, 0},
		{"hops: exactly", count, client, xff("192.0.2.3,192.0.2.2", "192.0.2.1"), "192.0.2.3", clientip.FromHeader, 3},
		{"hops: more", count, client, xff(victim, "192.0.2.3,_,192.0.2.1"), "192.0.2.3", clientip.FromHeader, 3},
		{"hops: too few", count, client, xff(victim + ", 192.0.2.1"), "192.0.2.1", clientip.TooFewHops, 1},
		{"hops: too few, no address", count, client, xff(victim + ", unknown"), client, clientip.TooFewHops, 0},
		{"hops: no address", count, client, xff(victim + ", unknown, 192.0.2.2, 192.0.2.1"), "192.0.2.1", clientip.Malformed, 1},
		{"hops: empty", count, client, xff(victim + ", ,192.0.2.2, 192.0.2.1"), "192.0.2.1", clientip.Malformed, 1},
		{"hops: no address at all", count, client, xff("a,b,c"), client, clientip.Malformed, 0},
		{"hops: quotes are nothing special", count, client, xff(`192.0.2.3,",\`), "192.0.2.3", clientip.FromHeader, 3},
		{"hops: no beginning", elements, client, http.Header{"Forwarded": {"for=" + victim, `"`}}, client, clientip.TooFewHops, 0},
		{"hops: a TCP peer where unix sockets are trusted", local, client, xff(victim), client, clientip.UntrustedPeer, 0},
		{"hops: on a unix socket", count, "", xff("192.0.2.3,unix:,unix:"), "192.0.2.3", clientip.FromHeader, 3},

		{"single: none", single, client, nil, client, clientip.NoHeader, 0},
		{"single: no address", single, client, http.Header{"X-Real-Ip": {victim, "unknown"}}, client, clientip.Malformed, 0},
		{"single: quoted", single, client, http.Header{"X-Real-Ip": {`"192.0.2.1"`}}, client, clientip.Malformed, 0},
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

// TestTrustedProxies looks addresses up in many overlapping prefixes.
func TestTrustedProxies(t *testing.T) {
	trusted := prefixes("10.0.0.0/24", "10.0.0.0/8", "10.1.2.3/32", "::ffff:192.168.0.0/112", "172.16.5.4/12", "11.0.0.0/8",
		"2001:db8::/32", "2001:db8:1::/48", "fd00::1/128", "255.255.255.255/32", "0.0.0.0/32")
	r := mustNew(t, clientip.Options{Header: "X-Real-IP", TrustedProxies: trusted})
	for text, want := range map[string]bool{
		"9.255.255.255": false, "10.0.0.0": true, "10.255.255.255": true, "11.255.255.255": true, "12.0.0.0": false,
		"192.168.0.1": true, "192.167.255.255": false, "192.169.0.0": false, "172.16.0.0": true, "172.31.255.255": true, "172.32.0.0": false,
		"2001:db8:1::1": true, "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff": true, "2001:db9::": false, "2001:db7:ffff::": false,
		"fd00::1": true, "fd00::1%eth0": true, "fd00::2": false, "::ffff:10.0.0.1": true, "::10.0.0.1": false, "::": false,
		"0.0.0.0": true, "0.0.0.1": false, "255.255.255.255": true,
	} {
		got := r.Client(addr(text), http.Header{"X-Real-Ip": {client}})
		if believed := got.Reason == clientip.FromHeader; believed != want {
			t.Errorf("peer %s: believed %v, want %v", text, believed, want)
		}
	}
}

// TestPeer has what net/http and others put into RemoteAddr.
func TestPeer(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1:1234":            "192.0.2.1",
		"[2001:db8::1]:1234":        "2001:db8::1",
		"[fe80::1%eth0]:1234":       "fe80::1",
		"[::ffff:192.0.2.1]:80":     "192.0.2.1",
		"::ffff:192.0.2.1":          "192.0.2.1",
		"192.0.2.1":                 "192.0.2.1",
		"2001:db8::1":               "2001:db8::1",
		"2001:db8::1%a]:1":          "2001:db8::1",
		"":                          "",
		"@":                         "",
		"/run/headgate.sock":        "",
		"pipe":                      "",
		"192.0.2.1:":                "",
		"192.0.2.1:123456":          "",
		"192.0.2.1:-1":              "",
		"192.0.2.1:_":               "",
		"192.0.2.1:_a/":             "",
		"192.0.2.1%eth0":            "",
		"192.0.2.01":                "",
		"[192.0.2.1]:80":            "",
		"[2001:db8::1":              "",
		"[2001:db8::1]80":           "",
		"[2001:db8::1]:":            "",
		"2001:db8::1]:80":           "",
		"fe80::1%":                  "",
		"[fe80::1%]":                "",
		":80":                       "",
		"[]:80":                     "",
		"192.0.2.1 :80":             "",
		"\x00":                      "",
		strings.Repeat("1:", 1<<20): "",
	} {
		if got := clientip.Peer(text); got != addr(want) {
			t.Errorf("%.40q: %v, want %v", text, got, want)
		}
	}
}

// TestNew has options that are refused, and what the errors say.
func TestNew(t *testing.T) {
	ten := prefixes("10.0.0.0/8")
	for _, test := range []struct {
		options clientip.Options
		want    string
	}{
		{clientip.Options{Header: "X-Forwarded-For"}, "header X-Forwarded-For: anybody could forge it; say which peers write it (trusted proxies) or how many proxies there are (hops)"},
		{clientip.Options{TrustedProxies: ten}, "no header for the trusted proxies or hops; name the one that the proxies write, such as X-Forwarded-For"},
		{clientip.Options{TrustUnix: true}, "no header for the trusted proxies or hops; name the one that the proxies write, such as X-Forwarded-For"},
		{clientip.Options{Hops: 1}, "no header for the trusted proxies or hops; name the one that the proxies write, such as X-Forwarded-For"},
		{clientip.Options{Header: "X Real", Hops: 1}, `header "X Real": not a name of a header; use X-Forwarded-For, Forwarded, X-Real-IP or another with one address`},
		{clientip.Options{Header: "X-Real-IP", Hops: 2}, "hops 2: X-Real-IP has one address only; use 1, or the header X-Forwarded-For or Forwarded"},
		{clientip.Options{Header: "Forwarded", Hops: 65}, "hops 65: use 1 to 64, or 0 to go by the trusted proxies"},
		{clientip.Options{Header: "Forwarded", Hops: -1}, "hops -1: use 1 to 64, or 0 to go by the trusted proxies"},
		{clientip.Options{IPv4Prefix: 33}, "ipv4 prefix 33: use 1 to 32 bits"},
		{clientip.Options{IPv4Prefix: -1}, "ipv4 prefix -1: use 1 to 32 bits"},
		{clientip.Options{IPv6Prefix: 129}, "ipv6 prefix 129: use 1 to 128 bits"},
		{clientip.Options{IPv6Prefix: -1}, "ipv6 prefix -1: use 1 to 128 bits"},
		{clientip.Options{Header: "Forwarded", TrustedProxies: prefixes("10.0.0.0/8", "::/0")},
			"trusted proxy ::/0: takes every client for a proxy, so that anybody could forge Forwarded; use hops if the proxies' addresses are not known"},
		{clientip.Options{Header: "Forwarded", TrustedProxies: prefixes("::ffff:0.0.0.0/96")},
			"trusted proxy ::ffff:0.0.0.0/96: takes every client for a proxy, so that anybody could forge Forwarded; use hops if the proxies' addresses are not known"},
		{clientip.Options{Header: "Forwarded", TrustedProxies: append(slices.Clone(ten), prefixes("10.0.0.0/8")[0], netip.Prefix{})},
			"trusted proxies: a prefix that is not valid; use an address with its length, such as 10.0.0.0/8"},
	} {
		if _, err := clientip.New(test.options); err == nil || err.Error() != "client ip: "+test.want {
			t.Errorf("%+v: error %v\nwant client ip: %s", test.options, err, test.want)
		}
	}
	for _, o := range []clientip.Options{
		{},
		{IPv4Prefix: 24, IPv6Prefix: 128},
		{Header: "x-forwarded-for", Hops: 64},
		{Header: "forwarded", TrustUnix: true},
		{Header: "X-Forwarded-For", Hops: 2, TrustedProxies: prefixes("0.0.0.0/0")},
	} {
		if _, err := clientip.New(o); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

package clientip_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/clientip"
)

// request is one that must cost nothing worth attacking for.
type request struct {
	name    string
	resolve func() clientip.Client
}

// requests returns common requests, and those with headers of the greatest size
// that net/http takes.
func requests(t testing.TB) []request {
	var many []netip.Prefix // as many as a CDN has
	for i := range 256 {
		many = append(many, netip.MustParsePrefix(fmt.Sprintf("100.64.%d.0/25", i)))
	}
	many = append(many, prefixes("10.0.0.0/8")...)
	with := func(name string, o clientip.Options, lines ...string) request {
		r, header, peer := mustNew(t, o), http.Header{o.Header: lines}, addr("10.0.0.1")
		return request{name, func() clientip.Client { return r.Client(peer, header) }}
	}
	walk := clientip.Options{Header: "X-Forwarded-For", TrustedProxies: many}
	forwarded := clientip.Options{Header: "Forwarded", TrustedProxies: many}
	const megabyte = 1 << 20
	return []request{
		with("peer", clientip.Options{}),
		with("untrusted", clientip.Options{Header: "X-Forwarded-For", TrustUnix: true}, client),
		with("xff", walk, client),
		with("xff-ipv6", walk, "2001:db8:1:2:3:4:5:6"),
		with("xff-two-proxies", walk, client+", 100.64.200.1, 10.0.0.2"),
		with("hops", clientip.Options{Header: "X-Forwarded-For", Hops: 2}, client+", 100.64.200.1"),
		with("forwarded", forwarded, `for="[2001:db8:cafe::17]:4711";proto=https;host=example.com`),
		with("single", clientip.Options{Header: "X-Real-Ip", TrustedProxies: many}, client),
		with("commas-behind", walk, strings.Repeat(",", megabyte), client),
		with("commas", walk, strings.Repeat(",", megabyte)),
		with("letters", walk, strings.Repeat("a", megabyte)),
		with("quotes", forwarded, strings.Repeat(`"`, megabyte)),
		with("backslashes", forwarded, `for="`+strings.Repeat(`\`, megabyte)+`"`),
		with("escaped-quotes", forwarded, `for="`+strings.Repeat(`\"`, megabyte/2)+`"`),
		with("semicolons", forwarded, strings.Repeat(`;`, megabyte)),
		with("proxies", walk, strings.Repeat("10.0.0.2,", megabyte/9)+"10.0.0.2"),
	}
}

// TestAllocatesNothing allows for the error about a text that is no address.
func TestAllocatesNothing(t *testing.T) {
	for _, request := range requests(t) {
		n := testing.AllocsPerRun(10, func() { request.resolve() })
		if n > 1 || n == 1 && request.resolve().Reason != clientip.Malformed {
			t.Errorf("%s: %v allocations", request.name, n)
		}
	}
	r, key := mustNew(t, clientip.Options{}), make([]byte, 0, 64)
	ipv6 := addr("2001:db8::1")
	if n := testing.AllocsPerRun(10, func() { key = clientip.AppendPart(r.AppendKey(key[:0], ipv6), "/login") }); n != 0 {
		t.Errorf("a key: %v allocations", n)
	}
}

func BenchmarkClient(b *testing.B) {
	for _, request := range requests(b) {
		b.Run(request.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				request.resolve()
			}
		})
	}
}

func BenchmarkAppendKey(b *testing.B) {
	r := mustNew(b, clientip.Options{})
	for _, text := range []string{client, "2001:db8:1:2:3:4:5:6", "fe80::1"} {
		b.Run(text, func(b *testing.B) {
			key, addr := make([]byte, 0, 64), addr(text)
			b.ReportAllocs()
			for b.Loop() {
				key = clientip.AppendPart(r.AppendKey(key[:0], addr), "/login")
			}
		})
	}
}

func BenchmarkPeer(b *testing.B) {
	for b.Loop() {
		clientip.Peer("[2001:db8:1:2:3:4:5:6]:50123")
	}
}

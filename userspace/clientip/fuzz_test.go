package clientip_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/clientip"
)

// subject is a resolver and its witness.
type subject struct {
	options   clientip.Options
	resolver  *clientip.Resolver
	reference reference
}

// subjects are what FuzzClient chooses from; the seeds count on their order.
func subjects(f *testing.F) (subjects []subject) {
	trusted := prefixes("10.0.0.0/8", "fd00::/8", "192.0.2.0/31")
	for _, o := range []clientip.Options{
		{},
		{Header: "X-Forwarded-For", TrustedProxies: trusted},
		{Header: "X-Forwarded-For", TrustedProxies: trusted, TrustUnix: true},
		{Header: "X-Forwarded-For", Hops: 1},
		{Header: "X-Forwarded-For", Hops: 3, TrustedProxies: trusted},
		{Header: "Forwarded", TrustedProxies: trusted},
		{Header: "Forwarded", Hops: 2},
		{Header: "X-Real-Ip", TrustedProxies: trusted},
	} {
		subjects = append(subjects, subject{o, mustNew(f, o), newReference(o)})
	}
	return subjects
}

// FuzzClient checks Client against the reference, and that it never charges
// anybody but the peer or an address that stands in the header, and a peer that is
// not trusted never for another. Lines of the header are separated by line feeds.
// The seeds are in testdata/fuzz.
func FuzzClient(f *testing.F) {
	subjects := subjects(f)
	f.Fuzz(func(t *testing.T, choice uint8, peerText, lines string) {
		s := subjects[int(choice)%len(subjects)]
		peer := clientip.Peer(peerText)
		header := http.Header{s.options.Header: strings.Split(lines, "\n")}
		got := s.resolver.Client(peer, header)
		if want := s.reference.client(peer, header[s.options.Header]); got.Addr != want {
			t.Errorf("%+v: peer %v with %q is charged as %+v, want %v", s.options, peer, lines, got, want)
		}
		if got.Hop == 0 && got.Addr != peer || got.Hop > 0 && !standsIn(lines, got.Addr) {
			t.Errorf("%+v: peer %v with %q is charged as %+v, who stands nowhere", s.options, peer, lines, got)
		}
		if got.Reason == clientip.UntrustedPeer && got.Addr != peer {
			t.Errorf("%+v: peer %v is not trusted, but %+v charged", s.options, peer, got)
		}
	})
}

// standsIn reports whether text has addr, in any spelling.
func standsIn(text string, addr netip.Addr) bool {
	words := strings.FieldsFunc(text, func(c rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF:.", c) })
	for _, word := range words {
		host, _, _ := strings.Cut(word, ":")
		for _, spelling := range []string{word, host} {
			if got, err := netip.ParseAddr(spelling); err == nil && got.Unmap() == addr {
				return true
			}
		}
	}
	return false
}

// TestCase03ForgeryHurtsOnlyTheSender lets a client send any header through any
// chain of proxies that do their work: he is charged himself, as another would be
// by whom he forged.
func TestCase03ForgeryHurtsOnlyTheSender(t *testing.T) {
	trusted := prefixes("10.0.0.0/8")
	line := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.SampledFrom([]rune(`",;= \for=10.0.0.1:[]198.51.100.66`)), 0, 40, -1))
	rapid.Check(t, func(t *rapid.T) {
		header := rapid.SampledFrom([]string{"X-Forwarded-For", "Forwarded"}).Draw(t, "header")
		lines := rapid.SliceOfN(line, 0, 3).Draw(t, "forged")
		from := client
		proxies := rapid.SliceOfN(rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "10.9.9.9"}), 1, 5).Draw(t, "proxies")
		for _, proxy := range proxies {
			lines = proxied(lines, header, from, rapid.Bool().Draw(t, "new line"))
			from = proxy
		}
		for _, o := range []clientip.Options{
			{Header: header, TrustedProxies: trusted},
			{Header: header, Hops: len(proxies)},
			{Header: header, Hops: len(proxies), TrustedProxies: trusted},
		} {
			got := mustNew(t, o).Client(addr(from), http.Header{header: lines})
			want := clientip.Client{Addr: addr(client), Reason: clientip.FromHeader, Hop: len(proxies)}
			if got != want {
				t.Fatalf("%+v: %q charges %+v, want %+v", o, lines, got, want)
			}
		}
	})
}

// proxied returns the lines of a header as a proxy passes them on for a peer: on
// a line of its own, or behind the last.
func proxied(lines []string, header, peer string, newLine bool) []string {
	value := peer
	if header == "Forwarded" {
		value = `for="` + peer + `:4711";host="a, \"for=198.51.100.66\" \\"`
	}
	if newLine || len(lines) == 0 {
		return append(lines, value)
	}
	last := len(lines) - 1
	return append(lines[:last:last], lines[last]+", "+value)
}

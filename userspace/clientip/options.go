package clientip

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// MaxHops bounds how many values of a field are looked at.
const MaxHops = 64

// The parts of an address that tell clients apart unless Options says otherwise,
// in bits. An IPv6 host has a whole /64 to choose addresses from.
const (
	DefaultIPv4Prefix = 32
	DefaultIPv6Prefix = 64
)

// Options say whose word about the client is taken. The zero value charges the
// TCP peer.
type Options struct {
	// Header names where a trusted proxy writes the client's address. Of
	// X-Forwarded-For and Forwarded (RFC 7239) all values are looked at; every
	// other field, such as X-Real-IP, has one address, and its last value is
	// taken. Empty for the address of the peer.
	Header string
	// TrustedProxies are the peers whose field is believed and, without Hops, the
	// values in it that are passed over. Addresses of other peers are charged
	// whatever they send.
	TrustedProxies []netip.Prefix
	// TrustUnix believes peers on unix sockets, and passes over the value "unix:",
	// by which nginx names such a peer.
	TrustUnix bool
	// Hops, if not 0, says that the client is the Hops-th value from the right, of
	// at most MaxHops. TrustedProxies and TrustUnix then only say which peers are
	// believed; without both every peer is.
	Hops int
	// IPv4Prefix and IPv6Prefix are how much of an address tells clients apart, in
	// bits. 0 is for the default.
	IPv4Prefix, IPv6Prefix int
}

// Resolver says which client a request is charged to. It is immutable and may be
// used by several goroutines at once.
type Resolver struct {
	header   string // canonical; empty for the peer's address
	single   bool   // the field has one address
	elements bool   // the field is Forwarded

	proxies   networks
	trustUnix bool
	anyPeer   bool // every peer is believed
	hops      int

	ipv4Prefix, ipv6Prefix int
}

// New returns a Resolver. It returns an error if the field would be believed
// from anybody, if what is trusted has no field to be trusted for, or if a
// number is out of its range.
func New(o Options) (*Resolver, error) {
	r := &Resolver{
		header:     http.CanonicalHeaderKey(o.Header),
		proxies:    newNetworks(o.TrustedProxies),
		trustUnix:  o.TrustUnix,
		anyPeer:    o.Hops > 0 && len(o.TrustedProxies) == 0 && !o.TrustUnix,
		hops:       o.Hops,
		ipv4Prefix: o.IPv4Prefix,
		ipv6Prefix: o.IPv6Prefix,
	}
	r.elements = r.header == "Forwarded"
	r.single = r.header != "X-Forwarded-For" && !r.elements
	if err := o.check(r.single); err != nil {
		return nil, fmt.Errorf("client ip: %w", err)
	}
	if r.single {
		r.hops = 1
	}
	return r, nil
}

// check returns the first thing that is wrong.
func (o Options) check(single bool) error {
	if err := o.checkNumbers(); err != nil {
		return err
	}
	trusting := len(o.TrustedProxies) > 0 || o.TrustUnix || o.Hops > 0
	switch {
	case o.Header == "" && trusting:
		return errors.New("no header for the trusted proxies or hops; name the one that the proxies write, such as X-Forwarded-For")
	case o.Header == "":
		return nil
	case !isToken(o.Header):
		return fmt.Errorf("header %q: not a name of a header; use X-Forwarded-For, Forwarded, X-Real-IP or another with one address", o.Header)
	case !trusting:
		return fmt.Errorf("header %s: anybody could forge it; say which peers write it (trusted proxies) or how many proxies there are (hops)", o.Header)
	case single && o.Hops > 1:
		return fmt.Errorf("hops %d: %s has one address only; use 1, or the header X-Forwarded-For or Forwarded", o.Hops, o.Header)
	}
	return o.checkProxies()
}

// checkNumbers checks the ranges of hops and prefixes.
func (o Options) checkNumbers() error {
	switch {
	case o.Hops < 0 || o.Hops > MaxHops:
		return fmt.Errorf("hops %d: use 1 to %d, or 0 to go by the trusted proxies", o.Hops, MaxHops)
	case o.IPv4Prefix < 0 || o.IPv4Prefix > 32:
		return fmt.Errorf("ipv4 prefix %d: use 1 to 32 bits", o.IPv4Prefix)
	case o.IPv6Prefix < 0 || o.IPv6Prefix > 128:
		return fmt.Errorf("ipv6 prefix %d: use 1 to 128 bits", o.IPv6Prefix)
	}
	return nil
}

// checkProxies refuses to take every client for a proxy: who is passed over may
// say that he is whoever he likes.
func (o Options) checkProxies() error {
	for _, proxy := range o.TrustedProxies {
		switch {
		case !proxy.IsValid():
			return errors.New("trusted proxies: a prefix that is not valid; use an address with its length, such as 10.0.0.0/8")
		case o.Hops == 0 && unmapped(proxy).Bits() == 0:
			return fmt.Errorf("trusted proxy %s: takes every client for a proxy, so that anybody could forge %s; use hops if the proxies' addresses are not known", proxy, o.Header)
		}
	}
	return nil
}

// isToken reports whether s is a token (RFC 9110, 5.6.2), as names of fields are.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		if !isAlphanumeric(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// isAlphanumeric reports whether c is a letter or digit of ASCII.
func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

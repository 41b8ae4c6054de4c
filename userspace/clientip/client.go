package clientip

import (
	"net/http"
	"net/netip"
)

// Reason is why an address is charged.
type Reason string

// The reasons.
const (
	FromPeer      Reason = "peer"             // no field is configured
	FromHeader    Reason = "header"           // a trusted hop said so
	UntrustedPeer Reason = "untrusted peer"   // the peer, as its field is not believed
	NoHeader      Reason = "no header"        // the peer, trusted, sent no field
	Malformed     Reason = "malformed header" // what should tell the address does not
	AllTrusted    Reason = "all trusted"      // the leftmost value is a trusted proxy too
	TooFewHops    Reason = "too few hops"     // fewer values than Hops
	TooManyHops   Reason = "too many hops"    // more than MaxHops trusted proxies
)

// Client is who a request is charged to.
type Client struct {
	// Addr is not IPv4-mapped and has no zone. It is invalid where nothing is
	// known but that the peer is on a unix socket.
	Addr netip.Addr
	// Reason is why it is this address.
	Reason Reason
	// Hop is which value of the field it is, 1 for the rightmost; 0 for the peer.
	Hop int
}

// Client returns who a request from peer is charged to: peer itself, or an
// address that stands in the field. An invalid peer is one on a unix socket. The
// names of header are taken to be canonical, as those that net/http reads. It
// allocates nothing unless a value is malformed, and looks at no more of the
// field than it needs.
func (r *Resolver) Client(peer netip.Addr, header http.Header) Client {
	peer = bare(peer)
	switch {
	case r.header == "":
		return Client{Addr: peer, Reason: FromPeer}
	case !r.believes(peer):
		return Client{Addr: peer, Reason: UntrustedPeer}
	}
	v := values{lines: header[r.header], quoted: r.elements}
	if r.hops > 0 {
		return r.count(peer, v)
	}
	return r.walk(peer, v)
}

// believes reports whether the field that peer sends is believed.
func (r *Resolver) believes(peer netip.Addr) bool {
	switch {
	case r.anyPeer:
		return true
	case !peer.IsValid():
		return r.trustUnix
	default:
		return r.proxies.contain(peer)
	}
}

// walk passes over trusted proxies. Each value was written by the hop to its
// right, the last by the peer, so that the first that is not trusted is the last
// that somebody trusted wrote.
func (r *Resolver) walk(peer netip.Addr, v values) Client {
	last := Client{Addr: peer, Reason: NoHeader}
	for hop := 1; hop <= MaxHops; hop++ {
		value, ok := v.next()
		if !ok {
			return last
		}
		addr, ok := r.address(value)
		switch {
		case !ok && r.trustUnix && value == "unix:":
			last.Reason = AllTrusted
		case !ok:
			last.Reason = Malformed
			return last
		case !r.proxies.contain(addr):
			return Client{Addr: addr, Reason: FromHeader, Hop: hop}
		default:
			last = Client{Addr: addr, Reason: AllTrusted, Hop: hop}
		}
	}
	last.Reason = TooManyHops
	return last
}

// count takes the value that the outermost proxy wrote. Where there is none, a
// proxy was bypassed and nobody knows who wrote which value, but for the last,
// which the peer wrote.
func (r *Resolver) count(peer netip.Addr, v values) Client {
	nearest := Client{Addr: peer, Reason: NoHeader}
	for hop := 1; ; hop++ {
		value, ok := v.next()
		if !ok {
			return nearest
		}
		addr, ok := r.address(value)
		switch {
		case hop == r.hops && ok:
			return Client{Addr: addr, Reason: FromHeader, Hop: hop}
		case hop == r.hops:
			nearest.Reason = Malformed
			return nearest
		case hop == 1 && ok:
			nearest = Client{Addr: addr, Reason: TooFewHops, Hop: hop}
		case hop == 1:
			nearest.Reason = TooFewHops
		}
	}
}

// address returns the address that a value of the field tells.
func (r *Resolver) address(value string) (netip.Addr, bool) {
	if r.elements {
		node, ok := forNode(value)
		if !ok {
			return netip.Addr{}, false
		}
		value = node
	}
	return parseNode(value)
}

package ruleset

import (
	"net/http"
	"net/netip"
)

// Request is what decides about a request. Nothing of it is changed or kept.
type Request struct {
	// Peer is the address of the TCP peer; invalid where there is none, as for
	// a Unix socket.
	Peer netip.Addr
	// Conn is the address that the TCP connection itself is from, where something told Peer: the PROXY
	// protocol, or a gateway that asks about somebody else's request. Invalid if it is that of Peer, or not known.
	// No rule looks at it; it is for those who see what was decided.
	Conn netip.Addr
	// Hearsay says that who told Peer did not say how he knows it: it may be from a field that clients can forge, or
	// stand for a network. Requests are limited by it, but nobody's packets may be dropped for it. No rule looks at this either.
	Hearsay bool
	// Method, Host, Path and RawQuery are as in http.Request and its URL: the host
	// may have a port, the path is decoded, the query is not.
	Method, Host, Path, RawQuery string
	// Header is as net/http makes it: its names are canonical. May be nil.
	Header http.Header
	// Units multiply what the request costs, but for places of requests at a time, of which it takes one. 0 is 1.
	Units uint64
}

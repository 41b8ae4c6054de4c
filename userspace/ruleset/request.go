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
	// Method, Host, Path and RawQuery are as in http.Request and its URL: the host
	// may have a port, the path is decoded, the query is not.
	Method, Host, Path, RawQuery string
	// Header is as net/http makes it: its names are canonical. May be nil.
	Header http.Header
}

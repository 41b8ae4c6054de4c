// Package peers tells who is at the other end of a connection.
package peers

import (
	"net"
	"net/netip"

	"github.com/headgate/headgate/userspace/clientip"
)

// Addr returns the address of a peer as prefixes have it, neither IPv4-mapped nor with a zone; invalid if it has none, as on a
// unix socket.
func Addr(a net.Addr) netip.Addr {
	switch a := a.(type) {
	case nil, *net.UnixAddr: // its name may look like an address
		return netip.Addr{}
	case *net.TCPAddr:
		return a.AddrPort().Addr().Unmap().WithZone("")
	default:
		return clientip.Peer(a.String()).Unmap().WithZone("")
	}
}

// Among reports whether one of the prefixes has addr, which is as Addr returns it.
func Among(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

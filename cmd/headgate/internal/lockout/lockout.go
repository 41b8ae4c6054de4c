// Package lockout finds the addresses that an operator depends on at this moment: the other end
// of his SSH session, and the default gateways.
package lockout

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Peer is an address that should not be cut off.
type Peer struct {
	Addr    netip.Addr
	What    string // "this SSH session" or "a default gateway"
	Ifindex int    // where its packets arrive; 0 where that is unknown
	Port    uint16 // local TCP port of the SSH session, otherwise 0
}

// String returns the address and what it is.
func (p Peer) String() string { return fmt.Sprintf("%s, %s", p.Addr, p.What) }

// parseSSH reads SSH_CONNECTION: client address, client port, server address, server port.
func parseSSH(s string) (Peer, bool) {
	fields := strings.Fields(s)
	if len(fields) != 4 {
		return Peer{}, false
	}
	addr, err := netip.ParseAddr(fields[0])
	if err != nil {
		return Peer{}, false
	}
	port, err := strconv.ParseUint(fields[3], 10, 16)
	if err != nil {
		return Peer{}, false
	}
	return Peer{Addr: addr.Unmap().WithZone(""), What: "this SSH session", Port: uint16(port)}, true
}

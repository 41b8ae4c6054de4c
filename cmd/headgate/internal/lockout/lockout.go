// Package lockout finds the addresses that an operator depends on at this moment, the other end of
// his SSH session and the default gateways, and refuses what would cut them off.
package lockout

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Peer is an address that should not be cut off.
type Peer struct {
	Addr netip.Addr
	What string // "this SSH session" or "a default gateway"
	// Interfaces are the numbers of those that may see its packets; none where that is unknown.
	Interfaces []int
	Port       uint16 // local TCP port of the SSH session, otherwise 0
}

// Unknown stands for an interface that may be any.
const Unknown = 0

// MayArriveOn says whether packets of the peer may come in through one of these interfaces.
func (p Peer) MayArriveOn(interfaces []int) bool {
	return len(p.Interfaces) == 0 || slices.ContainsFunc(interfaces, func(index int) bool {
		return index == Unknown || slices.Contains(p.Interfaces, index)
	})
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

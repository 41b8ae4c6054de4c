package lockout

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/vishvananda/netlink"
)

const sshVariable = "SSH_CONNECTION"

// maxAncestors bounds the walk from this process up to its terminal's.
const maxAncestors = 32

// Peers returns the peers that can be found. It looks for the SSH session in the environment, and
// where sudo has removed it from there in those of the processes above.
func Peers(getenv func(string) string) []Peer {
	links, err := netlink.LinkList()
	if err != nil {
		links = nil // then every interface is unknown
	}
	var peers []Peer
	session := getenv(sshVariable)
	if session == "" {
		session = fromAncestors(os.Getppid())
	}
	if peer, ok := parseSSH(session); ok {
		peer.Interfaces = arrivals(interfaceTo(peer.Addr), links)
		peers = append(peers, peer)
	}
	return append(peers, gateways(links)...)
}

func fromAncestors(pid int) string {
	for range maxAncestors {
		if pid <= 1 {
			break
		}
		if value := environ(pid); value != "" {
			return value
		}
		pid = parent(pid)
	}
	return ""
}

func environ(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	for variable := range bytes.SplitSeq(data, []byte{0}) {
		if value, ok := bytes.CutPrefix(variable, []byte(sshVariable+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// parent reads /proc/PID/stat, where the name of the program stands in parentheses and may hold
// anything.
func parent(pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(data[bytes.LastIndexByte(data, ')')+1:]), " ")
	if !ok {
		return 0
	}
	var state string
	var ppid int
	if _, err := fmt.Sscan(rest, &state, &ppid); err != nil {
		return 0
	}
	return ppid
}

// interfaceTo returns where packets to addr leave, or Unknown: what comes back arrives there, but
// for asymmetric routes. A link-local address is on every link.
func interfaceTo(addr netip.Addr) int {
	if addr.Is6() && addr.IsLinkLocalUnicast() {
		return Unknown
	}
	routes, err := netlink.RouteGet(net.IP(addr.AsSlice()))
	if err != nil || len(routes) == 0 {
		return Unknown
	}
	return routes[0].LinkIndex
}

// gateways returns the gateways of default routes.
func gateways(links []netlink.Link) []Peer {
	return gatewaysOf(links, isDefault, "a default gateway")
}

// NextHops returns the gateways of the other routes. To drop what they send themselves cuts off nobody who administers the
// machine, so that a command may; it can end what goes by them, as they answer no neighbour discovery then.
func NextHops() []Peer {
	links, err := netlink.LinkList()
	if err != nil {
		links = nil
	}
	return gatewaysOf(links, func(dst *net.IPNet) bool { return !isDefault(dst) }, "the next hop of a route")
}

// gatewaysOf returns each once on an interface: a router may have a million routes by a few.
func gatewaysOf(links []netlink.Link, to func(*net.IPNet) bool, what string) []Peer {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil // who cannot list routes cannot attach either
	}
	type gateway struct {
		addr  netip.Addr
		index int
	}
	seen := map[gateway]bool{}
	var peers []Peer
	for _, r := range routes {
		if !to(r.Dst) {
			continue
		}
		for _, hop := range hops(r) {
			addr, ok := netip.AddrFromSlice(gatewayOf(hop))
			if g := (gateway{addr.Unmap(), hop.LinkIndex}); ok && !seen[g] {
				seen[g] = true
				peers = append(peers, Peer{Addr: g.addr, What: what, Interfaces: arrivals(g.index, links)})
			}
		}
	}
	return peers
}

func isDefault(dst *net.IPNet) bool {
	if dst == nil {
		return true
	}
	ones, _ := dst.Mask.Size()
	return ones == 0 && dst.IP.IsUnspecified()
}

func hops(r netlink.Route) []netlink.NexthopInfo {
	if len(r.MultiPath) == 0 {
		return []netlink.NexthopInfo{{LinkIndex: r.LinkIndex, Gw: r.Gw, Via: r.Via}}
	}
	var hops []netlink.NexthopInfo
	for _, hop := range r.MultiPath {
		hops = append(hops, *hop)
	}
	return hops
}

// gatewayOf returns the address of a hop: one of IPv6 where a route of IPv4 goes by that. nil where there is none.
func gatewayOf(hop netlink.NexthopInfo) net.IP {
	if via, ok := hop.Via.(*netlink.Via); ok {
		return via.Addr
	}
	return hop.Gw
}

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

func gateways(links []netlink.Link) []Peer {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil // who cannot list routes cannot attach either
	}
	var peers []Peer
	for _, r := range routes {
		if !isDefault(r.Dst) {
			continue
		}
		for _, hop := range hops(r) {
			if addr, ok := netip.AddrFromSlice(hop.Gw); ok {
				peers = append(peers, Peer{
					Addr: addr.Unmap(), What: "a default gateway", Interfaces: arrivals(hop.LinkIndex, links),
				})
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
		return []netlink.NexthopInfo{{LinkIndex: r.LinkIndex, Gw: r.Gw}}
	}
	var hops []netlink.NexthopInfo
	for _, hop := range r.MultiPath {
		hops = append(hops, *hop)
	}
	return hops
}

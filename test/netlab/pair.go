//go:build linux

package netlab

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
)

// PairOptions are the settings of a veth pair. The zero value is a pair "near0"
// and "far0" with an MTU of 1500, one queue, and no addresses.
type PairOptions struct {
	NearName, FarName string // at most 15 bytes
	MTU               int    // in bytes, of the IP packet; 0 means 1500
	// NearAddrs and FarAddrs are addresses with the length of their network.
	NearAddrs, FarAddrs []netip.Prefix
	// TxQueueLen is the length of the transmit queue in packets; 0 means the
	// kernel's default.
	TxQueueLen int
	// Queues is the number of transmit and of receive queues at each end; 0
	// means 1. With more than one, frames may overtake each other, and a
	// Counter is not exact.
	Queues int
}

// Pair is two virtual interfaces, each of which receives what the other sends.
type Pair struct {
	Near, Far *End
}

// End is one interface of a Pair.
type End struct {
	Namespace *Namespace
	Name      string
	Index     int
	MAC       net.HardwareAddr
}

// NewPair makes a veth pair between two namespaces, which may be the same, and
// sets both ends up. They are ready for traffic when it returns.
//
// Neither end sends a frame by itself: neighbour resolution is off (IFF_NOARP,
// which also stops multicast listener reports), the addresses of each end are
// permanent neighbours of the other one, and IPv6 is off unless an end has an
// IPv6 address, and then without duplicate address detection, router
// solicitation and a link-local address.
func NewPair(near, far *Namespace, o PairOptions) (*Pair, error) {
	o.NearName, o.FarName = cmp.Or(o.NearName, "near0"), cmp.Or(o.FarName, "far0")
	if err := near.Do(func() error { return netlink.LinkAdd(vethOf(far, o)) }); err != nil {
		return nil, fmt.Errorf("add veth pair %s, %s: %w", o.NearName, o.FarName, err)
	}
	pair := &Pair{
		Near: &End{Namespace: near, Name: o.NearName},
		Far:  &End{Namespace: far, Name: o.FarName},
	}
	if err := pair.setUp(o); err != nil {
		return nil, errors.Join(err, near.Do(func() error { return deleteLink(o.NearName) }))
	}
	return pair, nil
}

func vethOf(far *Namespace, o PairOptions) *netlink.Veth {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = o.NearName
	attrs.MTU = cmp.Or(o.MTU, 1500)
	attrs.NumTxQueues = cmp.Or(o.Queues, 1)
	attrs.NumRxQueues = cmp.Or(o.Queues, 1)
	if o.TxQueueLen != 0 {
		attrs.TxQLen = o.TxQueueLen
	}
	veth := netlink.NewVeth(attrs)
	veth.PeerName = o.FarName
	veth.PeerNamespace = netlink.NsFd(far.FD())
	return veth
}

// setUp sets both ends up and waits for them. It needs both hardware addresses
// before it can give either end its neighbours, so it goes over the ends twice.
func (p *Pair) setUp(o PairOptions) error {
	for _, end := range []*End{p.Near, p.Far} {
		if err := end.Namespace.Do(end.identify); err != nil {
			return fmt.Errorf("find %s: %w", end.Name, err)
		}
	}
	err := errors.Join(
		p.Near.setUp(o.NearAddrs, o.FarAddrs, p.Far.MAC),
		p.Far.setUp(o.FarAddrs, o.NearAddrs, p.Near.MAC),
	)
	if err != nil {
		return err
	}
	return errors.Join(p.Near.settle(o.NearAddrs), p.Far.settle(o.FarAddrs))
}

func (e *End) identify() error {
	link, err := netlink.LinkByName(e.Name)
	if err != nil {
		return err
	}
	e.Index, e.MAC = link.Attrs().Index, link.Attrs().HardwareAddr
	return nil
}

func (e *End) setUp(addrs, neighbours []netip.Prefix, neighbourMAC net.HardwareAddr) error {
	err := e.Namespace.Do(func() error {
		link, err := netlink.LinkByIndex(e.Index)
		if err != nil {
			return err
		}
		if err := errors.Join(netlink.LinkSetARPOff(link), e.enableIPv6(addrs)); err != nil {
			return err
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return err
		}
		if err := e.addAddrs(link, addrs); err != nil {
			return err
		}
		return e.addNeighbours(neighbours, neighbourMAC, hasIPv6(addrs))
	})
	if err != nil {
		return fmt.Errorf("set up %s: %w", e.Name, err)
	}
	return nil
}

// enableIPv6 turns IPv6 on when an address needs it. The order matters: what is
// to be quiet must be so before IPv6 starts.
func (e *End) enableIPv6(addrs []netip.Prefix) error {
	if !hasIPv6(addrs) {
		return nil
	}
	const noLinkLocal = 1 // IN6_ADDR_GEN_MODE_NONE
	return errors.Join(
		setIPv6(e.Name, "addr_gen_mode", noLinkLocal),
		setIPv6(e.Name, "accept_dad", 0),
		setIPv6(e.Name, "accept_ra", 0),
		setIPv6(e.Name, "router_solicitations", 0),
		setIPv6(e.Name, "disable_ipv6", 0),
	)
}

func hasIPv6(addrs []netip.Prefix) bool {
	for _, p := range addrs {
		if p.Addr().Is6() {
			return true
		}
	}
	return false
}

func (e *End) addAddrs(link netlink.Link, addrs []netip.Prefix) error {
	for _, p := range addrs {
		ipNet := &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
		if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: ipNet}); err != nil {
			return fmt.Errorf("add address %v: %w", p, err)
		}
	}
	return nil
}

// addNeighbours leaves IPv6 neighbours out where IPv6 is off, as the kernel does
// not take them.
func (e *End) addNeighbours(addrs []netip.Prefix, mac net.HardwareAddr, ipv6 bool) error {
	for _, p := range addrs {
		if p.Addr().Is6() && !ipv6 {
			continue
		}
		err := netlink.NeighSet(&netlink.Neigh{
			LinkIndex: e.Index, State: netlink.NUD_PERMANENT, IP: p.Addr().AsSlice(), HardwareAddr: mac,
		})
		if err != nil {
			return fmt.Errorf("add neighbour %v: %w", p.Addr(), err)
		}
	}
	return nil
}

// Close removes both interfaces at once. It is not needed when the namespaces
// are closed, which removes them a little later.
func (p *Pair) Close() error {
	if err := p.Near.Namespace.Do(func() error { return deleteLink(p.Near.Name) }); err != nil {
		return fmt.Errorf("delete veth pair %s, %s: %w", p.Near.Name, p.Far.Name, err)
	}
	return nil
}

func deleteLink(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkDel(link)
}

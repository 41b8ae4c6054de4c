package lockout

import (
	"slices"

	"github.com/vishvananda/netlink"
)

// arrivals returns the interfaces that may see the packets which the kernel receives on one of that
// number: itself and all below it, such as the ports of a bridge. It returns none where they cannot
// be told.
func arrivals(index int, links []netlink.Link) []int {
	var found []int
	for todo := []int{index}; len(todo) > 0; todo = todo[1:] {
		if slices.Contains(found, todo[0]) {
			continue
		}
		n := slices.IndexFunc(links, func(l netlink.Link) bool { return l.Attrs().Index == todo[0] })
		if n < 0 || !hasKnownLower(links[n]) {
			return nil
		}
		found = append(found, todo[0])
		todo = append(todo, below(links[n], links)...)
	}
	return found
}

// hasKnownLower says that packets come in through the interface itself or through those that below
// returns. What comes out of a tunnel has come in somewhere, under another address.
func hasKnownLower(l netlink.Link) bool {
	switch l.Type() {
	case "veth", "netkit":
		return inOtherNamespace(l) // otherwise its other end is a way in, and beyond that may be any
	case "device", "dummy", "ipoib", // hardware, or as good as that
		"bridge", "bond", "team", "vrf", // with interfaces enslaved to them
		"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap": // with a parent
		return true
	default:
		return false
	}
}

// inOtherNamespace says that what the interface is linked to is in another network namespace, where
// numbers mean other interfaces.
func inOtherNamespace(l netlink.Link) bool { return l.Attrs().NetNsID >= 0 }

func below(l netlink.Link, links []netlink.Link) []int {
	var lower []int
	attrs := l.Attrs()
	if attrs.ParentIndex != 0 && !inOtherNamespace(l) {
		lower = append(lower, attrs.ParentIndex)
	}
	for _, other := range links {
		if other.Attrs().MasterIndex == attrs.Index {
			lower = append(lower, other.Attrs().Index)
		}
	}
	return lower
}

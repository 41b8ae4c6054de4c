package lockout

import (
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
)

// linked is an interface of a kind, with what it is on and what it is enslaved to.
func linked(kind string, index, parent, master int) netlink.Link {
	attrs := netlink.NewLinkAttrs()
	attrs.Index, attrs.ParentIndex, attrs.MasterIndex = index, parent, master
	return &netlink.GenericLink{LinkAttrs: attrs, LinkType: kind}
}

// abroad is an interface whose other end, or parent, is in another network namespace.
func abroad(kind string, index, parent, master int) netlink.Link {
	l := linked(kind, index, parent, master)
	l.Attrs().NetNsID = 0
	return l
}

func TestArrivals(t *testing.T) {
	links := []netlink.Link{
		linked("device", 1, 1, 0),
		linked("device", 2, 0, 5),
		linked("device", 3, 0, 5),
		linked("device", 4, 0, 8),
		linked("bond", 5, 0, 8),
		linked("vlan", 6, 5, 0),
		linked("macvlan", 7, 6, 0),
		linked("bridge", 8, 0, 0),
		abroad("veth", 9, 2, 8), // the number is of an interface elsewhere
		abroad("macvlan", 10, 2, 0),
		linked("vrf", 11, 0, 0),
		linked("vlan", 12, 1, 11),
		linked("wireguard", 13, 0, 0),
		linked("bridge", 14, 0, 0),
		linked("vxlan", 15, 1, 14),
		linked("veth", 16, 17, 0),
		linked("veth", 17, 16, 0),
		linked("vlan", 18, 99, 0), // a parent that is not in the list
		linked("macvlan", 19, 20, 0),
		linked("macvlan", 20, 19, 0), // in a circle, which the kernel would not make
	}
	tests := []struct {
		name  string
		index int
		want  []int // nil for any
	}{
		{"alone", 1, []int{1}},
		{"a port of a bond", 2, []int{2}},
		{"bond", 5, []int{5, 2, 3}},
		{"VLAN on a bond", 6, []int{6, 5, 2, 3}},
		{"macvlan on a VLAN", 7, []int{7, 6, 5, 2, 3}},
		{"bridge over a bond", 8, []int{8, 4, 5, 9, 2, 3}},
		{"veth", 9, []int{9}},
		{"macvlan from elsewhere", 10, []int{10}},
		{"VRF", 11, []int{11, 12, 1}},
		{"tunnel", 13, nil},
		{"bridge over a tunnel", 14, nil},
		{"veth within the namespace", 16, nil},
		{"unlisted parent", 18, nil},
		{"circle", 19, []int{19, 20}},
		{"unlisted", 99, nil},
		{"unknown", Unknown, nil},
	}
	for _, tt := range tests {
		if got := arrivals(tt.index, links); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

package lockout

import (
	"net"
	"os"
	"testing"

	"github.com/vishvananda/netlink"
)

func TestIsDefault(t *testing.T) {
	for text, want := range map[string]bool{"": true, "0.0.0.0/0": true, "::/0": true, "0.0.0.0/1": false, "10.0.0.0/8": false, "::/1": false} {
		var dst *net.IPNet
		if text != "" {
			_, dst, _ = net.ParseCIDR(text)
		}
		if got := isDefault(dst); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

func TestHops(t *testing.T) {
	one := netlink.Route{LinkIndex: 3, Gw: net.IPv4(10, 0, 0, 1)}
	if got := hops(one); len(got) != 1 || got[0].LinkIndex != 3 || !got[0].Gw.Equal(one.Gw) {
		t.Errorf("one hop: %v", got)
	}
	two := netlink.Route{MultiPath: []*netlink.NexthopInfo{{LinkIndex: 1}, {LinkIndex: 2}}}
	if got := hops(two); len(got) != 2 || got[0].LinkIndex != 1 || got[1].LinkIndex != 2 {
		t.Errorf("two hops: %v", got)
	}
	via := &netlink.Via{AddrFamily: netlink.FAMILY_V6, Addr: net.ParseIP("fe80::1")}
	for _, r := range []netlink.Route{{Via: via}, {MultiPath: []*netlink.NexthopInfo{{Via: via}}}} {
		if got := hops(r); len(got) != 1 || !gatewayOf(got[0]).Equal(via.Addr) {
			t.Errorf("by IPv6: %v", got)
		}
	}
	if got := gatewayOf(netlink.NexthopInfo{LinkIndex: 1}); got != nil {
		t.Errorf("no gateway: %v", got)
	}
}

func TestParent(t *testing.T) {
	if got, want := parent(os.Getpid()), os.Getppid(); got != want {
		t.Errorf("parent %d, want %d", got, want)
	}
	if got := parent(-1); got != 0 {
		t.Errorf("parent of none %d, want 0", got)
	}
}

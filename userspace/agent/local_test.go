package agent

import (
	"net"
	"net/netip"
	"testing"
)

// The networks of the machine are known with its addresses.
func TestLocate(t *testing.T) {
	var all []net.Addr
	for _, text := range []string{"192.0.2.7/24", "192.0.2.8/24", "2001:db8:5::7/64", "2001:db8:6::7/128"} {
		addr, network, err := net.ParseCIDR(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &net.IPNet{IP: addr, Mask: network.Mask})
	}
	l := &local{}
	known := l.now() // of this machine: it is there at once
	known.addrs, known.networks = locate(all)
	for addr, want := range map[string]bool{"192.0.2.7": true, "::ffff:192.0.2.8": true, "2001:db8:6::7": true, "192.0.2.9": false, "2001:db8:5::8": false} {
		if got := l.is(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s is an own address: %t, want %t", addr, got, want)
		}
	}
	for prefix, want := range map[string]bool{
		"192.0.2.0/25": true, "192.0.0.0/16": true, "192.0.3.0/24": false,
		"2001:db8:5::/64": true, "2001:db8:5::8/128": true, "2001:db8:6::/64": true, "2001:db8:7::/64": false,
	} {
		if got := l.near(netip.MustParsePrefix(prefix)); got != want {
			t.Errorf("%s is near: %t, want %t", prefix, got, want)
		}
	}
	for prefix, want := range map[string]bool{"192.0.2.8/32": true, "192.0.2.0/24": true, "192.0.2.9/32": false, "2001:db8:6::/64": true, "2001:db8:7::/64": false} {
		if got := l.within(netip.MustParsePrefix(prefix)); got != want {
			t.Errorf("an own address is in %s: %t, want %t", prefix, got, want)
		}
	}
	if n := len(known.networks); n != 3 {
		t.Errorf("%d networks of %v", n, known.networks)
	}
}

package peers_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/headgate/headgate/userspace/gateway/internal/peers"
)

func TestAmong(t *testing.T) {
	prefixes := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}
	for _, c := range []struct {
		addr net.Addr
		want bool
	}{
		{&net.TCPAddr{IP: net.ParseIP("127.0.0.1")}, true},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 9).To4(), Port: 1}, true},
		{&net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Zone: "eth0"}, true},
		{&net.TCPAddr{IP: net.ParseIP("::1")}, false},
		{told("192.0.2.1:80"), false},
		{told("[2001:db8::2]:80"), true},
		{told("::ffff:127.0.0.1"), true},
		{told(""), false},
		{nil, false},
		{&net.UnixAddr{Name: "127.0.0.1:80", Net: "unix"}, false},
	} {
		if got := peers.Among(prefixes, peers.Addr(c.addr)); got != c.want {
			t.Errorf("%v: %t, want %t", c.addr, got, c.want)
		}
	}
}

// told is an address as some listeners have it.
type told string

func (told) Network() string  { return "tcp" }
func (a told) String() string { return string(a) }

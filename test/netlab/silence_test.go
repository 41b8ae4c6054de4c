//go:build linux

package netlab_test

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
	"github.com/headgate/headgate/test/packet"
)

// addressed returns a pair with addresses of both versions at both ends.
func addressed(t *testing.T) *netlab.Pair {
	t.Helper()
	return netlabtest.Pair(t, netlab.PairOptions{
		NearAddrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24"), netip.MustParsePrefix("2001:db8::1/64")},
		FarAddrs:  []netip.Prefix{netip.MustParsePrefix("192.0.2.2/24"), netip.MustParsePrefix("2001:db8::2/64")},
	})
}

// TestSilence checks that an end with addresses sent nothing of its own.
func TestSilence(t *testing.T) {
	pair := addressed(t)
	for _, end := range []*netlab.End{pair.Near, pair.Far} {
		if n := receivedFrames(t, end); n != 0 {
			t.Errorf("%s received %d frames that nobody sent", end.Name, n)
		}
	}
}

// TestNothingToTalkAbout checks what would make the kernel talk later, when
// timers run out: addresses that nobody asked for, and multicast groups.
func TestNothingToTalkAbout(t *testing.T) {
	pair := addressed(t)
	for _, end := range []*netlab.End{pair.Near, pair.Far} {
		var addrs []string
		err := end.Namespace.Do(func() error {
			link, err := netlink.LinkByIndex(end.Index)
			if err != nil {
				return err
			}
			if link.Attrs().RawFlags&unix.IFF_NOARP == 0 {
				t.Errorf("%s takes part in neighbour resolution", end.Name)
			}
			list, err := netlink.AddrList(link, netlink.FAMILY_ALL)
			for _, addr := range list {
				addrs = append(addrs, addr.IPNet.String())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(addrs)
		host := map[string]int{"near0": 1, "far0": 2}[end.Name]
		want := []string{fmt.Sprintf("192.0.2.%d/24", host), fmt.Sprintf("2001:db8::%d/64", host)}
		if diff := cmp.Diff(want, addrs); diff != "" {
			t.Errorf("%s: addresses (-want +got):\n%s", end.Name, diff)
		}
	}
}

// TestNoResolution has a socket send to addresses that nobody has, for which
// the kernel would ask the network where they are.
func TestNoResolution(t *testing.T) {
	pair := addressed(t)
	c := netlabtest.Counter(t, pair.Far, protocol)
	for _, to := range []string{"192.0.2.99", "2001:db8::99"} {
		err := pair.Near.Namespace.Do(func() error {
			conn, err := net.Dial("udp", net.JoinHostPort(to, "53"))
			if err != nil {
				return err
			}
			defer conn.Close()
			_, err = conn.Write([]byte("anybody there?"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := netlab.Counts[string]{
		"IPv4 protocol 17": {Packets: 1, Bytes: 14 + 20 + 8 + 14},
		"IPv6 protocol 17": {Packets: 1, Bytes: 14 + 40 + 8 + 14},
	}
	if diff := cmp.Diff(want, netlabtest.Exchange(t, netlabtest.Sender(t, pair.Near), c)); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}

func protocol(frame []byte) (string, bool) {
	l, ok := packet.Locate(frame)
	if !ok {
		return fmt.Sprintf("% x", frame), true
	}
	return fmt.Sprintf("IPv%d protocol %d", l.Version, l.Proto), true
}

package wire_test

import (
	"net/netip"
	"testing"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
)

func TestSource(t *testing.T) {
	for _, tt := range []struct {
		addr   string
		family uint32
		words  string // as the words of an IPv6 address
	}{
		{"203.0.113.1", uint32(bpf.FamilyIPv4), "cb00:7101::"},
		{"::ffff:203.0.113.1", uint32(bpf.FamilyIPv4), "cb00:7101::"},
		{"2001:db8::1", uint32(bpf.FamilyIPv6), "2001:db8::1"},
		{"fe80::1:2:3:4", uint32(bpf.FamilyLinkLocal), "1:2:3:4::"},
		{"fe80::1:2:3:4%eth0", uint32(bpf.FamilyLinkLocal), "1:2:3:4::"},
		{"fe80:0:0:1::1", uint32(bpf.FamilyIPv6), "fe80:0:0:1::1"}, // not in fe80::/64
	} {
		words, _ := wire.Addr(netip.MustParseAddr(tt.words))
		want := bpf.BucketKey{Policy: tt.family << bpf.PolicyIDBits, Addr: words}
		if got := wire.Source(netip.MustParseAddr(tt.addr)); got != want {
			t.Errorf("%s: %x, want %x", tt.addr, got, want)
		}
	}
}

package wire

import (
	"encoding/binary"
	"net/netip"

	"github.com/headgate/headgate/bpf"
)

// Source returns the key of a source but for the policy, as the program makes it of an address that
// is cut to its prefix: of a link-local one only the interface identifier is in it.
func Source(addr netip.Addr) bpf.BucketKey {
	words, family := Addr(addr)
	if family == uint8(bpf.FamilyIPv6) && isLinkLocal(addr) {
		words, family = [4]uint32{words[2], words[3]}, uint8(bpf.FamilyLinkLocal)
	}
	return bpf.BucketKey{Policy: uint32(family) << bpf.PolicyIDBits, Addr: words}
}

// isLinkLocal reports whether an IPv6 address is in fe80::/64; the rest of fe80::/10 is unused (RFC 4291).
func isLinkLocal(addr netip.Addr) bool {
	b := addr.As16()
	return binary.BigEndian.Uint64(b[:]) == 0xfe80<<48
}

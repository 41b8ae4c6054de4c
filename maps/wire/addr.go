// Package wire translates between Go's values and what the maps hold: addresses, limits, times.
// It does no I/O.
package wire

import (
	"encoding/binary"
	"net/netip"

	"github.com/headgate/headgate/bpf"
)

// Addr returns an address as the maps hold it, in network byte order whatever the machine's, and
// its family. An IPv4 address mapped into IPv6 is the IPv4 address.
func Addr(addr netip.Addr) (words [4]uint32, family uint8) {
	addr = addr.Unmap()
	if addr.Is4() {
		b := addr.As4()
		words[0] = binary.NativeEndian.Uint32(b[:])
		return words, uint8(bpf.FamilyIPv4)
	}
	b := addr.As16()
	for i := range words {
		words[i] = binary.NativeEndian.Uint32(b[4*i:])
	}
	return words, uint8(bpf.FamilyIPv6)
}

// ToAddr is the inverse of Addr. The zero Addr stands for a packet without an address, such as a
// malformed one.
func ToAddr(words [4]uint32, family uint8) netip.Addr {
	var b [16]byte
	for i, w := range words {
		binary.NativeEndian.PutUint32(b[4*i:], w)
	}
	switch family {
	case uint8(bpf.FamilyIPv4):
		return netip.AddrFrom4([4]byte(b[:4]))
	case uint8(bpf.FamilyIPv6):
		return netip.AddrFrom16(b)
	default:
		return netip.Addr{}
	}
}

// Mask returns the first bits of an address as a mask in network byte order.
func Mask(bits int) (words [4]uint32) {
	var b [16]byte
	for i := range bits {
		b[i/8] |= 0x80 >> (i % 8)
	}
	for i := range words {
		words[i] = binary.NativeEndian.Uint32(b[4*i:])
	}
	return words
}

// Port converts a port between host and network byte order.
func Port(port uint16) uint16 {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], port)
	return binary.BigEndian.Uint16(b[:])
}

// Prefix returns the canonical form of a prefix: host bits cleared, IPv4-mapped IPv6 prefixes of
// 96 bits and more as the IPv4 ones that they are.
func Prefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked()
}

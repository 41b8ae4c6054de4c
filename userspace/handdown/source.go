package handdown

import (
	"encoding/binary"
	"net/netip"

	"github.com/headgate/headgate/userspace/clientip"
)

// source is a prefix as a key without pointers: an IPv6 address, an IPv4 one being mapped, and its length in bits.
type source struct{ high, low, bits uint64 }

func sourceOf(p netip.Prefix) source {
	b := p.Addr().As16()
	bits := p.Bits()
	if p.Addr().Is4() {
		bits += 96
	}
	return source{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:]), uint64(bits)}
}

func (s source) prefix() netip.Prefix {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], s.high)
	binary.BigEndian.PutUint64(b[8:], s.low)
	addr, bits := netip.AddrFrom16(b), int(s.bits)
	if addr.Is4In6() {
		addr, bits = addr.Unmap(), bits-96
	}
	return netip.PrefixFrom(addr, bits)
}

// rulePrefix returns what a rule for addr is for; invalid if addr is. All of the IPv4 internet is
// behind one prefix of NAT64 (RFC 6052), so that its addresses are taken whole, as link-local ones are.
func (s *settings) rulePrefix(addr netip.Addr) netip.Prefix {
	if nat64().Contains(addr) {
		return netip.PrefixFrom(addr.WithZone(""), 128)
	}
	return clientip.Masked(addr, s.IPv4Prefix, s.IPv6Prefix)
}

func nat64() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom16([16]byte{1: 0x64, 2: 0xff, 3: 0x9b}), 96)
}

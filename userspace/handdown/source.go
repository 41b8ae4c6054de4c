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

// rulePrefix returns what a rule for addr is for; invalid if addr is. All of the IPv4 internet may be behind one prefix
// of a translator, so that its addresses are taken whole, as link-local ones are. So are those of a network that this
// machine is in: with an offender there its gateway would be dropped, and whoever else is there.
func (h *HandDown) rulePrefix(addr netip.Addr, s *settings) netip.Prefix {
	prefix := s.sourcePrefix(addr)
	if isTranslated(addr) || prefix.IsValid() && !prefix.IsSingleIP() && h.o.Near(prefix) {
		return whole(addr)
	}
	return prefix
}

// sourcePrefix returns what addr is counted by elsewhere; invalid if addr is.
func (s *settings) sourcePrefix(addr netip.Addr) netip.Prefix {
	return clientip.Masked(addr, s.IPv4Prefix, s.IPv6Prefix)
}

// isTranslated reports whether the last bits of addr are those of an IPv4 client.
func isTranslated(addr netip.Addr) bool {
	if !addr.Is6() {
		return false
	}
	b := addr.As16()
	switch binary.BigEndian.Uint32(b[:]) {
	case 0x0064ff9b:
		local := b[4] == 0 && b[5] == 1               // NAT64 within a network, 64:ff9b:1::/48 (RFC 8215)
		return local || [8]byte(b[4:12]) == [8]byte{} // NAT64, 64:ff9b::/96 (RFC 6052)
	case 0x20010000: // Teredo, 2001::/32 (RFC 4380)
		return true
	default:
		return false
	}
}

package clientip

import "net/netip"

// Prefix returns the addresses that are one client with addr.
func (r *Resolver) Prefix(addr netip.Addr) netip.Prefix {
	return Masked(addr, r.ipv4Prefix, r.ipv6Prefix)
}

// AppendKey appends the client that addr belongs to as a part of a key.
func (r *Resolver) AppendKey(dst []byte, addr netip.Addr) []byte {
	return AppendPrefix(dst, r.Prefix(addr))
}

// Masked returns the prefix of ipv4Bits or ipv6Bits that addr is in, so that
// several limits may count by prefixes of several lengths. 0 bits and less are for
// the default, more than an address has for all. An IPv4-mapped address is the IPv4
// address, and a zone is left out. A link-local address is returned whole, as all
// neighbours share their prefix. Masked returns an invalid prefix for an invalid
// address.
func Masked(addr netip.Addr, ipv4Bits, ipv6Bits int) netip.Prefix {
	addr = bare(addr)
	bits := orDefault(ipv6Bits, DefaultIPv6Prefix)
	switch {
	case addr.Is4():
		bits = orDefault(ipv4Bits, DefaultIPv4Prefix)
	case isLinkLocal(addr):
		bits = 128
	}
	prefix, _ := addr.Prefix(min(bits, addr.BitLen())) // an error only for an invalid addr
	return prefix
}

// orDefault returns bits, or what stands for none.
func orDefault(bits, byDefault int) int {
	if bits <= 0 {
		return byDefault
	}
	return bits
}

// isLinkLocal reports whether addr is in fe80::/64; the rest of fe80::/10 is
// unused (RFC 4291, 2.5.6).
func isLinkLocal(addr netip.Addr) bool {
	if !addr.IsLinkLocalUnicast() || !addr.Is6() {
		return false
	}
	b := addr.As16()
	return [8]byte(b[:8]) == [8]byte{0xfe, 0x80}
}

package policymap

import (
	"fmt"
	"net/netip"
)

// linkLocal returns the prefix of link-local addresses; the rest of fe80::/10 is unused (RFC 4291).
func linkLocal() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfe, 0x80}), 64)
}

// SourceBits returns how many bits of an address make a source. Link-local addresses are never cut.
func (c *Config) SourceBits(addr netip.Addr) int {
	switch {
	case addr.Is4():
		return c.IPv4Prefix
	case linkLocal().Contains(addr):
		return addr.BitLen()
	default:
		return c.IPv6Prefix
	}
}

// Cut returns an address cut to the bits that make a source.
func (c *Config) Cut(addr netip.Addr) netip.Addr {
	addr = addr.Unmap()
	return netip.PrefixFrom(addr, c.SourceBits(addr)).Masked().Addr()
}

// Source returns the source that an address belongs to. addr may be cut already. If it has more bits
// than sources have now, it was cut before that was changed, and is a source as it is.
func (c *Config) Source(addr netip.Addr) netip.Prefix {
	p := netip.PrefixFrom(addr, c.SourceBits(addr))
	if p.Masked() != p {
		return netip.PrefixFrom(addr, addr.BitLen())
	}
	return p
}

// PartError is the error for a limit for a part of a source. A source has one bucket, and each of
// two limits would forgive what it owes by the other.
type PartError struct {
	Prefix netip.Prefix // what is to be limited
	Bits   int          // what sources have
}

// Whole returns the source that the prefix is a part of.
func (e PartError) Whole() netip.Prefix {
	return netip.PrefixFrom(e.Prefix.Addr(), e.Bits).Masked()
}

// Family returns the number of the address family, 4 or 6.
func (e PartError) Family() int {
	if e.Prefix.Addr().Is4() {
		return 4
	}
	return 6
}

// Error implements error.
func (e PartError) Error() string {
	return fmt.Sprintf("IPv%d sources are /%d here, so %s is a part of one: limit %s",
		e.Family(), e.Bits, e.Prefix, e.Whole())
}

// CheckWhole returns a PartError for a prefix that is a part of a source.
func (c *Config) CheckWhole(prefix netip.Prefix) error {
	if bits := c.SourceBits(prefix.Addr()); prefix.Bits() > bits {
		return PartError{Prefix: prefix, Bits: bits}
	}
	return nil
}

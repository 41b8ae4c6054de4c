package packet

import (
	"fmt"
	"net/netip"
	"slices"
)

// Protocol numbers of the layers (IANA protocol-numbers).
const (
	protoHopByHop     = 0
	protoICMP         = 1
	protoIPv4         = 4
	protoTCP          = 6
	protoUDP          = 17
	protoIPv6         = 41
	protoRouting      = 43
	protoFragment     = 44
	protoAuth         = 51
	protoICMPv6       = 58
	protoNoNext       = 59
	protoDestOptions  = 60
	protoExperimental = 253 // RFC 3692
)

const (
	ipv4HeaderLen = 20
	ipv6HeaderLen = 40
	defaultTTL    = 64
)

var (
	defaultSrc4 = netip.AddrFrom4([4]byte{192, 0, 2, 1})
	defaultDst4 = netip.AddrFrom4([4]byte{198, 51, 100, 1})
	defaultSrc6 = netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 0x01})
	defaultDst6 = netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 0x02})
)

// IPv4 is an IPv4 header (RFC 791). Unset addresses are 192.0.2.1 and
// 198.51.100.1; an IPv4-mapped IPv6 address counts as IPv4.
type IPv4 struct {
	Src, Dst       netip.Addr
	TOS            uint8
	ID             uint16
	FragOff        uint16 // in units of 8 bytes, 0 to 8191
	MoreFragments  bool
	DontFragment   bool
	TTL            uint8  // 0 means 64
	Options        []byte // padded with zeros to a multiple of 4 bytes
	Version, IHL   *uint8 // 0 to 15
	Proto          *uint8
	TotalLen       *uint16
	HeaderChecksum *uint16
}

func (IPv4) ids() ids { return ids{etherType: etherTypeIPv4, proto: protoIPv4} }

func (p IPv4) encode(body []byte, a around) []byte {
	h := slices.Concat(make([]byte, ipv4HeaderLen), padded(p.Options, 4))
	h[0] = override(p.Version, 4)<<4 | override(p.IHL, uint8(len(h)/4))&0x0f
	h[1] = p.TOS
	put16(h[2:], override(p.TotalLen, length16(len(h)+len(body))))
	put16(h[4:], p.ID)
	put16(h[6:], p.fragmentField())
	h[8] = p.TTL
	if h[8] == 0 {
		h[8] = defaultTTL
	}
	h[9] = override(p.Proto, a.next.proto)
	copy(h[12:20], p.addresses())
	put16(h[10:], override(p.HeaderChecksum, checksum(h)))
	return append(h, body...)
}

func (p IPv4) fragmentField() uint16 {
	field := p.FragOff & 0x1fff
	if p.MoreFragments {
		field |= 0x2000
	}
	if p.DontFragment {
		field |= 0x4000
	}
	return field
}

// addresses returns source and destination, as the header has them.
func (p IPv4) addresses() []byte {
	return slices.Concat(bytes4(p.Src, defaultSrc4), bytes4(p.Dst, defaultDst4))
}

// IPv6 is an IPv6 header (RFC 8200). Unset addresses are 2001:db8::1 and
// 2001:db8::2; an IPv4 address is written as an IPv4-mapped one.
type IPv6 struct {
	Src, Dst     netip.Addr
	TrafficClass uint8
	FlowLabel    uint32 // 20 bits
	HopLimit     uint8  // 0 means 64
	Version      *uint8 // 0 to 15
	NextHeader   *uint8
	PayloadLen   *uint16
}

func (IPv6) ids() ids { return ids{etherType: etherTypeIPv6, proto: protoIPv6} }

func (p IPv6) encode(body []byte, a around) []byte {
	h := make([]byte, ipv6HeaderLen)
	version := uint32(override(p.Version, 6)) << 28
	put32(h, version|uint32(p.TrafficClass)<<20|p.FlowLabel&0xfffff)
	length := length16(len(body))
	if a.jumbo {
		length = 0 // RFC 2675, 3
	}
	put16(h[4:], override(p.PayloadLen, length))
	h[6] = override(p.NextHeader, a.next.proto)
	h[7] = p.HopLimit
	if h[7] == 0 {
		h[7] = defaultTTL
	}
	copy(h[8:40], p.addresses())
	return append(h, body...)
}

// addresses returns source and destination, as the header has them.
func (p IPv6) addresses() []byte {
	return slices.Concat(bytes16(p.Src, defaultSrc6), bytes16(p.Dst, defaultDst6))
}

// bytes4 panics on an IPv6 address: silently cutting it to four bytes would
// make a test pass for the wrong reason.
func bytes4(addr, unset netip.Addr) []byte {
	if !addr.IsValid() {
		addr = unset
	}
	addr = addr.Unmap()
	if !addr.Is4() {
		panic(fmt.Sprintf("packet: %v in an IPv4 or ARP layer: want an IPv4 address", addr))
	}
	return addr.AsSlice()
}

func bytes16(addr, unset netip.Addr) []byte {
	if !addr.IsValid() {
		addr = unset
	}
	b := addr.As16()
	return b[:]
}

// padded returns a copy of b with zeros behind it, to a multiple of unit bytes.
func padded(b []byte, unit int) []byte {
	return slices.Concat(b, make([]byte, (unit-len(b)%unit)%unit))
}

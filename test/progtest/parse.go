//go:build linux

package progtest

import (
	"encoding/binary"
	"net/netip"

	"github.com/headgate/headgate/bpf"
)

// Packet is what a limiter has to know of a frame.
type Packet struct {
	// Limited says that this is a packet to decide about. Otherwise Reason is why not.
	Limited bool
	Reason  bpf.Reason

	Source           netip.Addr // whole; IPv4-mapped IPv6 as IPv4; the zero Addr where not Limited
	Length           int        // that is charged
	Proto            uint8      // the upper layer's, or that of the header at which the walk ended
	HasPorts         bool
	SrcPort, DstPort uint16
	SYN              bool
}

// Limits of the walk: more tags are malformed, more extension headers hide the ports.
const (
	maxTags       = 2
	maxExtensions = 8
)

// Parse reads a frame as bpf/include/packet.h does. It is written from the RFCs, with slices for
// bounds, and shares no code with package packet, which makes the frames.
func Parse(frame []byte) Packet {
	if len(frame) < 14 {
		return malformed(frame)
	}
	etherType, rest := be16(frame[12:]), frame[14:]
	for range maxTags {
		if !isTag(etherType) {
			break
		}
		if len(rest) < 4 {
			return malformed(rest)
		}
		etherType, rest = be16(rest[2:]), rest[4:]
	}
	switch {
	case etherType == 0x0800:
		return parse4(rest)
	case etherType == 0x86dd:
		return parse6(rest)
	case isTag(etherType):
		return malformed(rest)
	}
	return Packet{Reason: bpf.ReasonNotIP, Length: len(rest)}
}

func malformed(rest []byte) Packet {
	return Packet{Reason: bpf.ReasonMalformed, Length: len(rest)}
}

func isTag(etherType uint16) bool { return etherType == 0x8100 || etherType == 0x88a8 }

// parse4 reads an IPv4 packet (RFC 791) with what the frame has behind it.
func parse4(b []byte) Packet {
	if len(b) < 20 {
		return malformed(b)
	}
	header, length := int(b[0]&0xf)*4, int(be16(b[2:]))
	if length == 0 && len(b) > 0xffff {
		length = len(b)
	}
	if b[0]>>4 != 4 || header < 20 || length < header || length > len(b) {
		return malformed(b)
	}
	p := Packet{
		Limited: true,
		Source:  netip.AddrFrom4([4]byte(b[12:16])),
		Length:  length,
		Proto:   b[9],
	}
	if fragmentOffset := be16(b[6:]) & 0x1fff; fragmentOffset == 0 {
		p.readPorts(b[header:length])
	}
	return p
}

// parse6 reads an IPv6 packet (RFC 8200) with what the frame has behind it.
func parse6(b []byte) Packet {
	if len(b) < 40 {
		return malformed(b)
	}
	length := 40 + int(be16(b[4:]))
	if length == 40 && (b[6] == 0 || len(b) > 40+0xffff) {
		length = len(b)
	}
	if b[0]>>4 != 6 || length > len(b) {
		return malformed(b)
	}
	p := Packet{
		Limited: true,
		Source:  netip.AddrFrom16([16]byte(b[8:24])).Unmap(),
		Length:  length,
		Proto:   b[6],
	}
	upper, ok := p.skipExtensions(b[40:length])
	if !ok {
		return p
	}
	if p.Proto == 58 && b[7] == 255 && len(upper) > 0 && upper[0] >= 133 && upper[0] <= 137 {
		return Packet{Reason: bpf.ReasonNeighbourDiscovery, Length: length}
	}
	p.readPorts(upper)
	return p
}

// skipExtensions returns what is behind the extension headers, and false where that is not in
// this packet, or too far away.
func (p *Packet) skipExtensions(b []byte) ([]byte, bool) {
	for range maxExtensions {
		if !isExtension(p.Proto) {
			return b, true
		}
		if len(b) < 8 {
			return nil, false
		}
		size := extensionSize(p.Proto, b[1])
		later := p.Proto == 44 && be16(b[2:])&0xfff8 != 0
		p.Proto = b[0]
		if later || size > len(b) {
			return nil, false
		}
		b = b[size:]
	}
	return b, !isExtension(p.Proto)
}

// isExtension knows the list of IANA's ipv6-parameters but for ESP, behind which all is secret,
// and the experimental numbers.
func isExtension(proto uint8) bool {
	switch proto {
	case 0, 43, 44, 51, 60, 135, 139, 140:
		return true
	}
	return false
}

func extensionSize(proto, length uint8) int {
	switch proto {
	case 44: // fragment
		return 8
	case 51: // authentication: RFC 4302, 2.2
		return (int(length) + 2) * 4
	}
	return (int(length) + 1) * 8
}

// readPorts reads the ports of TCP, UDP, DCCP, SCTP and UDP-Lite, which are at one place in all,
// and the flags of TCP.
func (p *Packet) readPorts(b []byte) {
	switch p.Proto {
	case 6, 17, 33, 132, 136:
	default:
		return
	}
	const syn, ack = 0x02, 0x10
	// Cut before the flags it may be one: a later fragment can bring them.
	p.SYN = p.Proto == 6 && (len(b) < 14 || b[13]&(syn|ack) == syn)
	if len(b) >= 4 {
		p.HasPorts, p.SrcPort, p.DstPort = true, be16(b), be16(b[2:])
	}
}

func be16(b []byte) uint16 { return binary.BigEndian.Uint16(b) }

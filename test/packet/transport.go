package packet

import "slices"

// TCPFlags are the control bits of a TCP header (RFC 9293, 3.1).
type TCPFlags uint8

// The control bits that tests use.
const (
	FIN TCPFlags = 1 << iota
	SYN
	RST
	PSH
	ACK
)

// Where each protocol keeps its checksum, in bytes from its header's start.
const (
	tcpChecksumAt  = 16
	udpChecksumAt  = 6
	icmpChecksumAt = 2
)

const (
	tcpHeaderLen = 20
	udpHeaderLen = 8
)

// UDP is a UDP header (RFC 768).
type UDP struct {
	Src, Dst uint16
	Length   *uint16
	Checksum *uint16
}

func (UDP) ids() ids { return extension(protoUDP) }

func (u UDP) encode(body []byte, a around) []byte {
	d := slices.Concat(make([]byte, udpHeaderLen), body)
	put16(d[0:], u.Src)
	put16(d[2:], u.Dst)
	put16(d[4:], override(u.Length, length16(len(d))))
	sum := pseudoChecksum(a.pseudo, protoUDP, d)
	if sum == 0 {
		sum = 0xffff // 0 would say that there is no checksum
	}
	put16(d[udpChecksumAt:], override(u.Checksum, sum))
	return d
}

// TCP is a TCP header (RFC 9293).
type TCP struct {
	Src, Dst   uint16
	Seq, Ack   uint32
	Flags      TCPFlags
	Window     uint16 // 0 means 65535
	Options    []byte // padded with zeros to a multiple of 4 bytes
	DataOffset *uint8 // in units of 4 bytes, 0 to 15
	Checksum   *uint16
}

func (TCP) ids() ids { return extension(protoTCP) }

func (t TCP) encode(body []byte, a around) []byte {
	h := slices.Concat(make([]byte, tcpHeaderLen), padded(t.Options, 4))
	put16(h[0:], t.Src)
	put16(h[2:], t.Dst)
	put32(h[4:], t.Seq)
	put32(h[8:], t.Ack)
	h[12] = override(t.DataOffset, uint8(len(h)/4)) << 4
	h[13] = uint8(t.Flags)
	put16(h[14:], t.Window)
	if t.Window == 0 {
		put16(h[14:], 0xffff)
	}
	d := slices.Concat(h, body)
	put16(d[tcpChecksumAt:], override(t.Checksum, pseudoChecksum(a.pseudo, protoTCP, d)))
	return d
}

// ICMP is an ICMP header (RFC 792).
type ICMP struct {
	Type, Code uint8
	Rest       uint32 // the four bytes that depend on the type
	Checksum   *uint16
}

func (ICMP) ids() ids { return extension(protoICMP) }

func (m ICMP) encode(body []byte, _ around) []byte {
	d := icmpMessage(m.Type, m.Code, m.Rest, body)
	put16(d[icmpChecksumAt:], override(m.Checksum, checksum(d)))
	return d
}

// ICMPv6 is an ICMPv6 header (RFC 4443).
type ICMPv6 struct {
	Type, Code uint8
	Rest       uint32 // the four bytes that depend on the type
	Checksum   *uint16
}

func (ICMPv6) ids() ids { return extension(protoICMPv6) }

func (m ICMPv6) encode(body []byte, a around) []byte {
	d := icmpMessage(m.Type, m.Code, m.Rest, body)
	put16(d[icmpChecksumAt:], override(m.Checksum, pseudoChecksum(a.pseudo, protoICMPv6, d)))
	return d
}

func icmpMessage(typ, code uint8, rest uint32, body []byte) []byte {
	h := []byte{typ, code, 0, 0, 0, 0, 0, 0}
	put32(h[4:], rest)
	return append(h, body...)
}

package packet

import "slices"

// HopByHop is a Hop-by-Hop Options header (RFC 8200, 4.3).
type HopByHop struct {
	// Options are option TLVs; padding to a multiple of 8 bytes is added.
	Options []byte
	// Jumbo, when not 0, adds a Jumbo Payload option (RFC 2675) with this
	// length, and makes the IPv6 layer in front carry a length of 0.
	Jumbo      uint32
	NextHeader *uint8
	HdrLen     *uint8 // in units of 8 bytes, not counting the first 8
}

func (HopByHop) ids() ids { return extension(protoHopByHop) }

func (x HopByHop) encode(body []byte, a around) []byte {
	options := x.Options
	if x.Jumbo != 0 {
		jumbo := []byte{0xc2, 4, 0, 0, 0, 0}
		put32(jumbo[2:], x.Jumbo)
		// First, because the option must start 2 bytes behind a multiple of 4.
		options = slices.Concat(jumbo, options)
	}
	return optionsHeader(options, x.NextHeader, x.HdrLen, body, a)
}

// DestOptions is a Destination Options header (RFC 8200, 4.6).
type DestOptions struct {
	// Options are option TLVs; padding to a multiple of 8 bytes is added.
	Options    []byte
	NextHeader *uint8
	HdrLen     *uint8 // in units of 8 bytes, not counting the first 8
}

func (DestOptions) ids() ids { return extension(protoDestOptions) }

func (x DestOptions) encode(body []byte, a around) []byte {
	return optionsHeader(x.Options, x.NextHeader, x.HdrLen, body, a)
}

func optionsHeader(options []byte, next, hdrLen *uint8, body []byte, a around) []byte {
	h := slices.Concat([]byte{0, 0}, options)
	h = append(h, padOptions((8-len(h)%8)%8)...)
	h[0] = override(next, a.next.proto)
	h[1] = override(hdrLen, uint8(len(h)/8-1))
	return append(h, body...)
}

// padOptions returns n bytes of Pad1 or PadN options; a receiver may reject
// other filling.
func padOptions(n int) []byte {
	pad := make([]byte, n)
	if n > 1 {
		pad[0], pad[1] = 1, uint8(n-2)
	}
	return pad
}

// Routing is a Routing header (RFC 8200, 4.4). Checksums of the layers behind
// it use the destination in the IPv6 header, so they are right for a header
// with no segments left.
type Routing struct {
	Type         uint8
	SegmentsLeft uint8
	Data         []byte // type-specific; padded with zeros
	NextHeader   *uint8
	HdrLen       *uint8 // in units of 8 bytes, not counting the first 8
}

func (Routing) ids() ids { return extension(protoRouting) }

func (x Routing) encode(body []byte, a around) []byte {
	h := padded(slices.Concat([]byte{0, 0, x.Type, x.SegmentsLeft}, x.Data), 8)
	h[0] = override(x.NextHeader, a.next.proto)
	h[1] = override(x.HdrLen, uint8(len(h)/8-1))
	return append(h, body...)
}

// Fragment is a Fragment header (RFC 8200, 4.5). Behind an Offset other than 0
// there is no transport header: put a Payload there and set NextHeader.
type Fragment struct {
	Offset     uint16 // in units of 8 bytes, 0 to 8191
	More       bool
	ID         uint32
	NextHeader *uint8
}

func (Fragment) ids() ids { return extension(protoFragment) }

func (x Fragment) encode(body []byte, a around) []byte {
	h := make([]byte, 8)
	h[0] = override(x.NextHeader, a.next.proto)
	field := x.Offset << 3
	if x.More {
		field |= 1
	}
	put16(h[2:], field)
	put32(h[4:], x.ID)
	return append(h, body...)
}

// AuthHeader is an Authentication Header (RFC 4302). It may stand behind IPv4
// too.
type AuthHeader struct {
	SPI, Seq   uint32
	ICV        []byte // integrity check value; padded with zeros to 4 bytes
	NextHeader *uint8
	HdrLen     *uint8 // in units of 4 bytes, minus 2
}

func (AuthHeader) ids() ids { return extension(protoAuth) }

func (x AuthHeader) encode(body []byte, a around) []byte {
	h := slices.Concat(make([]byte, 12), padded(x.ICV, 4))
	h[0] = override(x.NextHeader, a.next.proto)
	h[1] = override(x.HdrLen, uint8(len(h)/4-2))
	put32(h[4:], x.SPI)
	put32(h[8:], x.Seq)
	return append(h, body...)
}

func extension(proto uint8) ids {
	return ids{etherType: etherTypeExperimental, proto: proto}
}

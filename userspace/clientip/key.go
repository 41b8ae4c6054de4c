package clientip

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
)

// A key is a sequence of parts, each a text or a prefix, and says itself where
// each of them ends: no two sequences have one key, whatever bytes a client puts
// into his. A part is a uvarint and what it says:
//
//	2n         a text of n bytes follows
//	1          an invalid prefix
//	2n+1       for n of 1 to 33: an IPv4 prefix of n-1 bits
//	2n+1       for n of 34 to 162: an IPv6 prefix of n-34 bits
//
// Of a prefix those bytes follow that its bits reach into.
const (
	ipv4Code = 1
	ipv6Code = ipv4Code + 32 + 1
	lastCode = ipv6Code + 128
)

// AppendPart appends a text as a part of a key.
func AppendPart[Text string | []byte](dst []byte, part Text) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(part))<<1)
	return append(dst, part...)
}

// AppendPrefix appends a prefix as a part of a key. Bits beyond its length do
// not tell keys apart, nor does the IPv4-mapped form of an IPv4 prefix.
func AppendPrefix(dst []byte, prefix netip.Prefix) []byte {
	if !prefix.IsValid() {
		return append(dst, 1)
	}
	prefix = unmapped(prefix).Masked()
	bits, size := prefix.Bits(), (prefix.Bits()+7)/8
	if prefix.Addr().Is4() {
		b := prefix.Addr().As4()
		dst = append(dst, byte(ipv4Code+bits)<<1|1) // below 128
		return append(dst, b[:size]...)
	}
	b := prefix.Addr().As16()
	dst = binary.AppendUvarint(dst, uint64(ipv6Code+bits)<<1|1)
	return append(dst, b[:size]...)
}

// Part is a part of a key.
type Part struct {
	// IsPrefix says that the part is a prefix, else it is a text.
	IsPrefix bool
	Prefix   netip.Prefix
	Text     string
}

// String returns a prefix as people write it, a single address without its
// length, and quotes a text that could be mistaken.
func (p Part) String() string {
	switch {
	case !p.IsPrefix:
		return readable(p.Text)
	case !p.Prefix.IsValid():
		return "unknown"
	case p.Prefix.IsSingleIP():
		return p.Prefix.Addr().String()
	default:
		return p.Prefix.String()
	}
}

// Parts returns the parts of a key, and false if it is not one. Texts are views
// of key.
func Parts(key string) ([]Part, bool) {
	var parts []Part
	for key != "" {
		part, rest, ok := cutPart(key)
		if !ok {
			return nil, false
		}
		parts, key = append(parts, part), rest
	}
	return parts, true
}

// Describe returns a key as people read it, such as "192.0.2.1, /login", or
// quoted if it is not a key. It is for display: texts are not told from prefixes.
func Describe(key string) string {
	parts, ok := Parts(key)
	if !ok {
		return strconv.Quote(key)
	}
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.String()
	}
	return strings.Join(texts, ", ")
}

// cutPart returns the first part of a key, and what follows it.
func cutPart(key string) (part Part, rest string, ok bool) {
	head, rest, ok := cutUvarint(key)
	if !ok {
		return Part{}, "", false
	}
	if head&1 == 1 {
		prefix, rest, ok := cutPrefix(rest, head>>1)
		return Part{IsPrefix: true, Prefix: prefix}, rest, ok
	}
	if head>>1 > uint64(len(rest)) {
		return Part{}, "", false
	}
	return Part{Text: rest[:head>>1]}, rest[head>>1:], true
}

// cutPrefix returns the prefix that code tells and s begins with.
func cutPrefix(s string, code uint64) (prefix netip.Prefix, rest string, ok bool) {
	if code == 0 {
		return netip.Prefix{}, s, true
	}
	if code > lastCode {
		return netip.Prefix{}, "", false
	}
	bits, size := int(code)-ipv4Code, 4
	if code >= ipv6Code {
		bits, size = int(code)-ipv6Code, 16
	}
	filled := (bits + 7) / 8
	if filled > len(s) {
		return netip.Prefix{}, "", false
	}
	var b [16]byte
	copy(b[:], s[:filled])
	addr, _ := netip.AddrFromSlice(b[:size])
	prefix = netip.PrefixFrom(addr, bits)
	return prefix, s[filled:], prefix == unmapped(prefix).Masked()
}

// cutUvarint returns the number that s begins with, in its shortest form.
func cutUvarint(s string) (n uint64, rest string, ok bool) {
	var b [binary.MaxVarintLen64]byte
	n, size := binary.Uvarint(b[:copy(b[:], s)])
	return n, s[max(0, size):], size == len(binary.AppendUvarint(nil, n))
}

// readable returns s, quoted if it is not plain: what separates parts, or does
// not print, or would hide where it ends.
func readable(s string) string {
	if quoted := strconv.Quote(s); s == "" || len(quoted) != len(s)+2 || strings.ContainsAny(s, ", ") {
		return quoted
	}
	return s
}

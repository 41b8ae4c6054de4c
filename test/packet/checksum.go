package packet

// The Internet checksum of RFC 1071: the ones' complement of the ones'
// complement sum of all 16 bit words.

// checksum returns the checksum of b, an odd last byte counting as the high
// half of a word.
func checksum(b []byte) uint16 { return ^fold(sum(b)) }

// pseudoChecksum returns the checksum of segment with the pseudo header of
// RFC 9293 (IPv4) or RFC 8200 (IPv6) in front. Both give the same sum for the
// same fields, as the longer one differs only in zeros.
func pseudoChecksum(addresses []byte, proto uint8, segment []byte) uint16 {
	return ^fold(pseudoSum(addresses, proto, len(segment)) + sum(segment))
}

func pseudoSum(addresses []byte, proto uint8, length int) uint64 {
	return sum(addresses) + uint64(proto) + uint64(length)
}

func sum(b []byte) uint64 {
	var s uint64
	for ; len(b) >= 2; b = b[2:] {
		s += uint64(get16(b))
	}
	if len(b) == 1 {
		s += uint64(b[0]) << 8
	}
	return s
}

func fold(s uint64) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}

// adjust corrects the checksum at field for words that changed from before to
// after, without looking at the rest (RFC 1624, equation 3). Both have the same
// even length.
func adjust(field, before, after []byte) {
	s := uint64(^get16(field)) + sum(after)
	for ; len(before) >= 2; before = before[2:] {
		s += uint64(^get16(before))
	}
	put16(field, ^fold(s))
}

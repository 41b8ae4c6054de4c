// Package percent reads what URLs have written by escapes (RFC 3986, section 2.1). net/url refuses a text with an escape that is
// none, which servers let pass: a limit that did would be got around by it.
package percent

// Decode returns the first byte of what s stands for, and by how many bytes of s it is written: 3 for an escape, as %2F or
// %2f, and 1 for anything else, also a % that begins none. s is not empty.
func Decode(s string) (byte, int) {
	if s[0] != '%' || len(s) < 3 {
		return s[0], 1
	}
	high, low := digit(s[1]), digit(s[2])
	if high < 0 || low < 0 {
		return s[0], 1
	}
	return byte(high<<4 | low), 3
}

// digit returns the value of a hexadecimal digit, -1 if c is none.
func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

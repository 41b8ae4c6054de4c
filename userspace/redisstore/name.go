package redisstore

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
)

// longest is how long a part of a name may be, in bytes of it as it is. What is longer is hashed: Redis has each name in its memory.
const longest = 64

// appendName appends what a key is called in Redis: PREFIX:{TAG}:ALGORITHM:ZONE:KEY, where what could be taken for another part is
// written as %XX. Of windows ALGORITHM has their length in µs: those of machines that have another one for a while would begin each other
// anew. So different keys have different names, each name's slot is that of the tag alone, and people can read it.
func appendName(b []byte, prefix, tag string, t terms, zone, key string) []byte {
	b = appendPart(b, prefix)
	b = append(b, ":{"...)
	if tag == "" {
		b = append(b, '%') // {} would be no tag
	}
	b = appendPart(b, tag)
	b = append(b, "}:"...)
	b = append(b, t.kind.String()...)
	if t.kind == window || t.kind == sliding {
		b = strconv.AppendUint(append(b, '/'), t.q, 10)
	}
	b = append(b, ':')
	b = appendPart(b, zone)
	b = append(b, ':')
	return appendPart(b, key)
}

// String returns the word of names. It is not that of another kind, so that no state is read as one of these.
func (k kind) String() string {
	switch k {
	case leaky:
		return "leaky"
	case window:
		return "window"
	case sliding:
		return "sliding"
	default:
		return "concurrent"
	}
}

// appendPart appends a text that no other text is written as. A long one is 192 bits of its SHA-256 behind a # that no other has.
func appendPart(b []byte, s string) []byte {
	if len(s) > longest {
		sum := sha256.Sum256([]byte(s))
		return base64.RawURLEncoding.AppendEncode(append(b, '#'), sum[:24])
	}
	const digits = "0123456789ABCDEF"
	for i := range len(s) {
		if c := s[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return b
}

// plain reports whether c is written as it is.
func plain(c byte) bool {
	switch c {
	case '%', ':', '{', '}', '#', '"', '\'', '\\':
		return false
	}
	return c > ' ' && c < 0x7f
}

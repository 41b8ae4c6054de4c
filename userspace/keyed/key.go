package keyed

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"unsafe"
)

// wholeText is how many bytes a text may have to be in a Key as it is.
const wholeText = 23

// isHash marks the Key of a longer text, in place of a length.
const isHash = 0xff << 56

// Key is a text of any length as a value of 24 bytes without pointers. A Store of Keys needs no Clone,
// allocates nothing for a key that is new, gives the garbage collector nothing to follow, and finds a
// key with one cache miss less than a Store of strings.
//
// A text of up to 23 bytes is in it as it is, and of a longer one 184 bits of the SHA-256: nobody can find
// two texts with the same Key. KeyOf makes one; the zero value is that of the empty text.
type Key struct {
	// The bytes of the text, and in the uppermost byte of rest how many.
	first, second, rest uint64
}

// KeyOf returns the Key of a text, of which it keeps nothing.
func KeyOf(text string) Key {
	length := uint64(len(text)) << 56
	switch {
	case len(text) < 8:
		return Key{first: few(text), rest: length}
	case len(text) < 16:
		return Key{first: eight(text), second: few(text[8:]), rest: length}
	case len(text) <= wholeText:
		return Key{first: eight(text), second: eight(text[8:]), rest: few(text[16:]) | length}
	default:
		return hashed(text)
	}
}

// Text returns the text of k, and false if that was too long to be kept: then it returns the hash in hexadecimal.
func (k Key) Text() (string, bool) {
	var b [wholeText + 1]byte
	binary.LittleEndian.PutUint64(b[0:], k.first)
	binary.LittleEndian.PutUint64(b[8:], k.second)
	binary.LittleEndian.PutUint64(b[16:], k.rest)
	if length := int(b[wholeText]); length <= wholeText {
		return string(b[:length]), true
	}
	return hex.EncodeToString(b[:wholeText]), false
}

func hashed(text string) Key {
	// A copy of the text would be an allocation; the hash only reads it.
	sum := sha256.Sum256(unsafe.Slice(unsafe.StringData(text), len(text)))
	return Key{
		first:  binary.LittleEndian.Uint64(sum[0:]),
		second: binary.LittleEndian.Uint64(sum[8:]),
		rest:   binary.LittleEndian.Uint64(sum[16:])&(1<<56-1) | isHash,
	}
}

// few returns up to 7 bytes as a word. Pieces overlap where the number is not a power of two.
func few(s string) uint64 {
	n := len(s)
	switch {
	case n >= 4:
		return four(s) | four(s[n-4:])<<(8*uint(n-4))
	case n > 0:
		return uint64(s[0]) | uint64(s[n/2])<<(8*uint(n/2)) | uint64(s[n-1])<<(8*uint(n-1))
	default:
		return 0
	}
}

func four(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

func eight(s string) uint64 { return four(s) | four(s[4:])<<32 }

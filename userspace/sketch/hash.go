package sketch

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Hasher makes keys of texts, by SipHash-2-4 (Aumasson and Bernstein, 2012): who does not know the
// seed cannot find texts that are one key. It is the same in each run. The zero value works, but its
// key is known to all. A Hasher may be used by several goroutines at the same time.
type Hasher struct {
	k0, k1 uint64
}

// NewHasher returns the Hasher of a seed, which may be that of an Estimator too.
func NewHasher(seed uint64) Hasher {
	random := source(seed, "hasher")
	return Hasher{random.Uint64(), random.Uint64()}
}

// String returns the key of s.
func (h Hasher) String(s string) uint64 { return h.Bytes(unsafe.Slice(unsafe.StringData(s), len(s))) }

// Bytes returns the key of b, which is that of string(b).
func (h Hasher) Bytes(b []byte) uint64 {
	v0, v1 := h.k0^0x736f6d6570736575, h.k1^0x646f72616e646f6d
	v2, v3 := h.k0^0x6c7967656e657261, h.k1^0x7465646279746573
	last := uint64(len(b)) << 56
	for ; len(b) >= 8; b = b[8:] {
		block := binary.LittleEndian.Uint64(b)
		v0, v1, v2, v3 = sipRound(sipRound(v0, v1, v2, v3^block))
		v0 ^= block
	}
	for i, c := range b {
		last |= uint64(c) << (8 * i)
	}
	v0, v1, v2, v3 = sipRound(sipRound(v0, v1, v2, v3^last))
	v0 ^= last
	v0, v1, v2, v3 = sipRound(sipRound(sipRound(sipRound(v0, v1, v2^0xff, v3))))
	return v0 ^ v1 ^ v2 ^ v3
}

func sipRound(v0, v1, v2, v3 uint64) (uint64, uint64, uint64, uint64) {
	v0 += v1
	v2 += v3
	v1 = bits.RotateLeft64(v1, 13) ^ v0
	v3 = bits.RotateLeft64(v3, 16) ^ v2
	v0 = bits.RotateLeft64(v0, 32) + v3
	v2 += v1
	v1 = bits.RotateLeft64(v1, 17) ^ v2
	v3 = bits.RotateLeft64(v3, 21) ^ v0
	return v0, v1, bits.RotateLeft64(v2, 32), v3
}

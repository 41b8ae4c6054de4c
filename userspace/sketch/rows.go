package sketch

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// rows places keys: each row has a hash function of its own.
type rows struct {
	hashes []rowHash
	slots  uint64 // in a row
}

// rowHash is Dietzfelbinger's multiply-add-shift (1996) from 64 bits to 64: the upper half of
// a*key + b modulo 2^128. For random a and b the hashes of two keys are independent and uniform,
// which is all that the error bound asks of them.
type rowHash struct {
	aHigh, aLow, bHigh, bLow uint64
}

func newRows(o EstimatorOptions) rows {
	random := source(o.Seed, "rows")
	r := rows{hashes: make([]rowHash, o.Hashes), slots: uint64(o.Slots)}
	for i := range r.hashes {
		r.hashes[i] = rowHash{random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64()}
	}
	return r
}

// source returns random numbers that depend on the seed and on what they are for.
func source(seed uint64, use string) *rand.ChaCha8 {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	copy(key[8:], use)
	return rand.NewChaCha8(key)
}

// slot returns where key is counted in the row: a number below the slots of all rows.
func (r *rows) slot(row int, key uint64) uint64 {
	slot, _ := bits.Mul64(r.hashes[row].of(key), r.slots) // Lemire's reduction to a range
	return uint64(row)*r.slots + slot
}

func (h *rowHash) of(key uint64) uint64 {
	high, low := bits.Mul64(h.aLow, key)
	_, carry := bits.Add64(low, h.bLow, 0)
	return high + h.aHigh*key + h.bHigh + carry
}

// total is the number of slots of all rows.
func (r *rows) total() int { return len(r.hashes) * int(r.slots) }

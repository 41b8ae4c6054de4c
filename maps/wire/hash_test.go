package wire_test

import (
	"math/bits"
	"testing"

	"github.com/headgate/headgate/maps/wire"
)

var salt = wire.Salt{
	0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93,
	0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3, 0x589965cc75374cc3,
}

// Each bit of what is hashed changes about half of all bits of the hash, and so does the salt.
func TestHashDependsOnAll(t *testing.T) {
	words := [4]uint32{1, 2, 3, 4}
	before := wire.Hash(&salt, 7, words)
	differ := func(what string, n int, after uint64) {
		if changed := bits.OnesCount64(before ^ after); changed < 12 || changed > 52 {
			t.Errorf("%s %d: %d bits of the hash change", what, n, changed)
		}
	}
	for bit := range 32 {
		differ("bit of the tag", bit, wire.Hash(&salt, 7^1<<bit, words))
		for i := range words {
			changed := words
			changed[i] ^= 1 << bit
			differ("bit of the address", 32*i+bit, wire.Hash(&salt, 7, changed))
		}
	}
	for i := range 7 {
		changed := salt
		changed[i] ^= 1 << 20
		differ("word of the salt", i, wire.Hash(&changed, 7, words))
	}
}

// A permutation says of its input all that there is to say.
func TestPermute(t *testing.T) {
	seen := make(map[uint32]bool, 1<<20)
	for i := range uint32(1 << 20) {
		seen[wire.Permute(&salt, i*4093)] = true
	}
	if len(seen) != 1<<20 {
		t.Errorf("%d different words of %d", len(seen), 1<<20)
	}
}

// The program compares with what an earlier build of userspace wrote, so the hash never changes.
func TestHashIsTheSameForever(t *testing.T) {
	if got, want := wire.Hash(&salt, 7, [4]uint32{1, 2, 3, 4}), uint64(0x2e6bb7782bf0d1db); got != want {
		t.Errorf("%#x, want %#x", got, want)
	}
}

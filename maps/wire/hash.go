package wire

import "github.com/headgate/headgate/bpf"

// Salt is what an instance's hashes are seeded with, from bpf.Global.
type Salt = [bpf.SaltLen]uint64

// Hash is the program's hash of an address as Addr returns it; see bpf/include/hash.h. The tag keeps
// hashes for different purposes apart.
func Hash(salt *Salt, tag uint32, words [4]uint32) uint64 {
	h := salt[0] + salt[1]*uint64(tag)
	for i, word := range words {
		h += salt[2+i] * uint64(word)
	}
	h ^= h >> 32
	h *= salt[6] | 1
	return h ^ h>>29
}

// Permute is the program's permutation of words.
func Permute(salt *Salt, word uint32) uint32 {
	word *= uint32(salt[7]) | 1
	word ^= word >> 16
	word *= uint32(salt[7]>>32) | 1
	return word ^ word>>16
}

package keyed

import (
	"hash/maphash"
	"math/bits"
)

// newHash returns a hash of keys with a seed of its own, which nobody who chooses keys knows.
func newHash[K comparable]() func(K) uint64 {
	seed := maphash.MakeSeed()
	var hash any
	switch any(*new(K)).(type) {
	case Key:
		hash = newKeySeed(seed).hash
	case string:
		hash = func(key string) uint64 { return maphash.String(seed, key) }
	default:
		hash = func(key K) uint64 { return maphash.Comparable(seed, key) }
	}
	return hash.(func(K) uint64)
}

// keySeed is the seed of a hash of Keys.
type keySeed [3]uint64

func newKeySeed(seed maphash.Seed) *keySeed {
	var s keySeed
	for i := range s {
		s[i] = maphash.Comparable(seed, i)
	}
	return &s
}

// hash multiplies as wyhash does (Wang Yi, which Go's maps fall back to). The words of a Key are in
// registers, where the hash of the runtime would have to read back what was just written.
func (s *keySeed) hash(k Key) uint64 {
	return mix(mix(k.first^s[0], k.second^s[1])^k.rest, s[2])
}

func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

package traffic

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// KeyLen is the length of each key in bytes: 16 hexadecimal digits, as a session's token. It is
// a size that Go's heap has, so that a copy of a key takes just as much.
const KeyLen = 16

// scramble makes number to key look random and is odd, so that no two numbers give one key;
// unscramble is its inverse modulo 2^64.
const (
	scramble   = 6364136223846793005
	unscramble = 13877824140714322085
)

// Keys are keys in the order of their use, one right behind the other: what is next is in the
// cache when it is used, as in a request that has just been parsed, and what reading the keys
// costs is next to nothing beside a limiter.
type Keys string

// Len returns how many keys there are.
func (k Keys) Len() int { return len(k) / KeyLen }

// At returns key i. It shares the memory of all the others.
func (k Keys) At(i int) string { return string(k[i*KeyLen : (i+1)*KeyLen]) }

// Slice returns the keys from i to before j.
func (k Keys) Slice(i, j int) Keys { return k[i*KeyLen : j*KeyLen] }

// Range returns the n different keys from number first on.
func Range(first, n int) Keys {
	var b strings.Builder
	b.Grow(n * KeyLen)
	for i := range n {
		write(&b, first+i)
	}
	return Keys(b.String())
}

// Shuffled returns the n keys from number 0 on, each once, in random order.
func Shuffled(n int) Keys { return Uniform(n, n) }

// Uniform returns uses of n keys in random order: each as often as the others, and each once
// before any is used again. uses has to be a multiple of n for that.
func Uniform(n, uses int) Keys {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var b strings.Builder
	b.Grow(uses * KeyLen)
	for i := range uses {
		at := i % n
		if at == 0 {
			random.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		write(&b, order[at])
	}
	return Keys(b.String())
}

// zipfExponent is how much more often common keys are used than rare ones.
const zipfExponent = 1.1

// Zipf returns uses of n keys by Zipf's law: the k-th most common with a share like 1/k^1.1.
// Of many keys, some are not used at all.
func Zipf(n, uses int) Keys {
	law := rand.NewZipf(rand.New(rand.NewPCG(2, uint64(n))), zipfExponent, 1, uint64(n-1))
	var b strings.Builder
	b.Grow(uses * KeyLen)
	for range uses {
		write(&b, int(law.Uint64()))
	}
	return Keys(b.String())
}

func write(b *strings.Builder, number int) {
	var raw [KeyLen / 2]byte
	for i, v := 0, uint64(number)*scramble; i < len(raw); i++ {
		raw[i] = byte(v >> (8 * (len(raw) - 1 - i)))
	}
	var text [KeyLen]byte
	hex.Encode(text[:], raw[:])
	b.Write(text[:])
}

// Seen counts different keys among those with numbers below a limit.
type Seen struct {
	bits     []uint64
	distinct int
}

// NewSeen returns a count of keys with numbers below limit.
func NewSeen(limit int) *Seen { return &Seen{bits: make([]uint64, (limit+63)/64)} }

// Add counts keys, and returns an error for one that is none of those it is to count.
func (s *Seen) Add(keys Keys) error {
	for i := range keys.Len() {
		v, err := strconv.ParseUint(keys.At(i), 16, 64)
		number := v * unscramble
		if err != nil || number >= uint64(len(s.bits))*64 {
			return fmt.Errorf("key %q is not one of the first %d", keys.At(i), len(s.bits)*64)
		}
		if bit := uint64(1) << (number % 64); s.bits[number/64]&bit == 0 {
			s.bits[number/64] |= bit
			s.distinct++
		}
	}
	return nil
}

// Distinct returns how many different keys were added.
func (s *Seen) Distinct() int { return s.distinct }

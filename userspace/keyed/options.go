package keyed

import "math/bits"

// DefaultMaxKeys is the MaxKeys of Options that name none.
const DefaultMaxKeys = 100_000

// MostKeys is the largest MaxKeys.
const MostKeys = 1 << 30

// MostShards is the largest Shards.
const MostShards = 1 << 7

const keysPerShard = 1 << 6

// Options are the settings of a Store and of Slots. The zero value is useful.
type Options[K comparable] struct {
	// Name is the Zone of each Result.
	Name string
	// MaxKeys is how many keys are remembered, from 1 to MostKeys; 0 for DefaultMaxKeys.
	// With several shards it may be exceeded by one key a shard.
	// Slots have no use for it: they remember the keys of what is under way.
	MaxKeys int
	// Shards is how many locks the keys are spread over, rounded up to a power of two; at most
	// MostShards. 0 chooses by MaxKeys. With 1, which keys are forgotten depends on the calls only.
	Shards int
	// Clone makes a copy of a key to keep, for keys that share memory with the
	// caller: strings.Clone for a string that is a view of a buffer.
	Clone func(K) K
}

func (o Options[K]) maxKeys() int {
	if o.MaxKeys == 0 {
		return DefaultMaxKeys
	}
	return min(max(o.MaxKeys, 1), MostKeys)
}

// shards returns how many shards there are, a power of two.
func (o Options[K]) shards() int {
	n := o.Shards
	if n <= 0 {
		n = o.maxKeys() / keysPerShard
	}
	n = min(max(n, 1), MostShards)
	return 1 << bits.Len(uint(n-1))
}

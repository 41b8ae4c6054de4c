package nginx

import "math/bits"

// chunkLen is how many nodes are allocated at once.
const chunkLen = 256

// node is a key of a store. Its links are numbers of nodes; none has number 0.
type node[K comparable] struct {
	key K
	state
	stamp        uint32 // of the latest charge; 0 if there was none, or it was taken back
	hash         uint32
	chain        uint32 // the next node in the bucket, or of the free ones
	newer, older uint32
}

// store holds nodes by key and in the order of their use.
type store[K comparable] struct {
	buckets        []uint32 // a power of two; the first node of each chain
	chunks         [][]node[K]
	used           uint32 // nodes that were ever in use
	free           uint32 // the first of the free ones among them
	len            int
	newest, oldest uint32
}

// at returns node i.
func (s *store[K]) at(i uint32) *node[K] { return &s.chunks[(i-1)/chunkLen][(i-1)%chunkLen] }

func (s *store[K]) bucket(hash uint32) *uint32 { return &s.buckets[hash&uint32(len(s.buckets)-1)] }

// bucketsFor returns how many buckets there are for so many keys: one or two for each, and a power of two.
func bucketsFor(keys int) int { return 1 << bits.Len(uint(keys-1)) }

// grow makes n buckets, a power of two, if there are fewer.
func (s *store[K]) grow(n int) {
	if n <= len(s.buckets) {
		return
	}
	s.buckets = make([]uint32, n)
	for i := s.newest; i != 0; i = s.at(i).older {
		node := s.at(i)
		bucket := s.bucket(node.hash)
		node.chain, *bucket = *bucket, i
	}
}

// find returns the node of key, 0 if there is none.
func (s *store[K]) find(key K, hash uint32) uint32 {
	i := *s.bucket(hash)
	for i != 0 {
		n := s.at(i)
		if n.hash == hash && n.key == key {
			break
		}
		i = n.chain
	}
	return i
}

// add makes a node for a key that has none, as the newest.
func (s *store[K]) add(key K, hash uint32, st state) uint32 {
	i := s.alloc()
	bucket := s.bucket(hash)
	*s.at(i) = node[K]{key: key, state: st, hash: hash, chain: *bucket}
	*bucket = i
	s.len++
	s.push(i)
	return i
}

func (s *store[K]) alloc() uint32 {
	if i := s.free; i != 0 {
		s.free = s.at(i).chain
		return i
	}
	if int(s.used) == len(s.chunks)*chunkLen {
		s.chunks = append(s.chunks, make([]node[K], chunkLen))
	}
	s.used++
	return s.used
}

// remove forgets node i.
func (s *store[K]) remove(i uint32) {
	n := s.at(i)
	link := s.bucket(n.hash)
	for *link != i {
		link = &s.at(*link).chain
	}
	*link = n.chain
	s.pull(i)
	*n = node[K]{chain: s.free}
	s.free = i
	s.len--
}

// touch makes node i the newest.
func (s *store[K]) touch(i uint32) {
	if s.newest != i {
		s.pull(i)
		s.push(i)
	}
}

func (s *store[K]) push(i uint32) {
	n := s.at(i)
	n.newer, n.older = 0, s.newest
	if s.newest != 0 {
		s.at(s.newest).newer = i
	} else {
		s.oldest = i
	}
	s.newest = i
}

func (s *store[K]) pull(i uint32) {
	n := s.at(i)
	if n.newer != 0 {
		s.at(n.newer).older = n.older
	} else {
		s.newest = n.older
	}
	if n.older != 0 {
		s.at(n.older).newer = n.newer
	} else {
		s.oldest = n.newer
	}
}

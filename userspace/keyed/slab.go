package keyed

// chunkBits is the logarithm of the number of elements in a chunk. A chunk that is not full is all that a slab
// wastes.
const chunkBits = 5

// slab is a slice that grows without copying what it has. The zero value is empty.
type slab[E any] struct {
	chunks []*[1 << chunkBits]E
	len    int
}

// at returns element i, which must be there.
func (s *slab[E]) at(i int) *E { return &s.chunks[i>>chunkBits][i&(1<<chunkBits-1)] }

// push adds an element, zero, and returns its number.
func (s *slab[E]) push() int {
	if s.len>>chunkBits == len(s.chunks) {
		s.chunks = append(s.chunks, new([1 << chunkBits]E))
	}
	s.len++
	return s.len - 1
}

// pop removes the last element, and keeps its chunk for the next.
func (s *slab[E]) pop() {
	var zero E
	*s.at(s.len - 1) = zero
	s.len--
}

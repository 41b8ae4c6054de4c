package keyed

import (
	"iter"
	"math/bits"
)

// firstSlots is how many slots an index begins with.
const firstSlots = 8

// index finds the numbers of entries by hash: open addressing with linear probing, at most
// three quarters full. A slot is 0 if it is free, else the low half of the hash above the
// entry's number + 1. It holds enough of the hash to grow, and to remove without tombstones, by
// itself: the entries are not touched.
type index struct {
	slots []uint64 // a power of two, or none
	used  int
}

func slotOf(hash uint64, i int) uint64 { return hash<<32 | uint64(uint32(i)+1) }

// mask is also right for no slots, where it is not used.
func (x *index) mask() uint32 { return uint32(len(x.slots) - 1) }

// all yields the entries whose hash has the same low half.
func (x *index) all(hash uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		if len(x.slots) == 0 {
			return
		}
		mask := x.mask()
		for p := uint32(hash) & mask; ; p = (p + 1) & mask {
			slot := x.slots[p]
			if slot == 0 {
				return
			}
			if slot>>32 == hash&(1<<32-1) && !yield(int(uint32(slot)-1)) {
				return
			}
		}
	}
}

func (x *index) add(hash uint64, i int) {
	if x.used*4 >= len(x.slots)*3 {
		x.grow()
	}
	x.put(slotOf(hash, i))
	x.used++
}

func (x *index) put(slot uint64) {
	mask := x.mask()
	p := uint32(slot>>32) & mask
	for x.slots[p] != 0 {
		p = (p + 1) & mask
	}
	x.slots[p] = slot
}

func (x *index) grow() {
	was := x.slots
	x.slots = make([]uint64, max(firstSlots, 2*len(was)))
	for _, slot := range was {
		if slot != 0 {
			x.put(slot)
		}
	}
}

// remove takes entry i out, which must be there, and moves back those behind it that
// would no longer be found (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
func (x *index) remove(hash uint64, i int) {
	mask := x.mask()
	gap := uint32(hash) & mask
	for x.slots[gap] != slotOf(hash, i) {
		gap = (gap + 1) & mask
	}
	x.used--
	for p := gap; ; {
		p = (p + 1) & mask
		slot := x.slots[p]
		if slot == 0 {
			break
		}
		home := uint32(slot>>32) & mask
		if (p-home)&mask >= (p-gap)&mask { // its home is not behind the gap
			x.slots[gap] = slot
			gap = p
		}
	}
	x.slots[gap] = 0
}

// log2 is for powers of two.
func log2(n int) int { return bits.Len(uint(n)) - 1 }

package keyed

import "iter"

// firstSlots is how many slots an index begins with.
const firstSlots = 8

// index finds the numbers of entries by hash: open addressing with linear probing, at most
// three quarters full. A slot is 0 if it is free, else the low half of the hash above the
// entry's number + 1. It holds enough of the hash to grow, and to remove without tombstones, by
// itself: the entries are not touched.
//
// It grows by half, so that it is never less than half full; a power of two would have to double.
type index struct {
	slots []uint64
	used  int
}

func slotOf(hash uint64, i int) uint64 { return hash<<32 | uint64(uint32(i)+1) }

// home returns where a slot would best be. It scales 32 bits of hash to the number of slots (Lemire,
// Fast Random Integer Generation in an Interval, 2019).
func (x *index) home(slot uint64) int { return int(slot >> 32 * uint64(len(x.slots)) >> 32) }

func (x *index) after(p int) int {
	if p++; p < len(x.slots) {
		return p
	}
	return 0
}

// all yields the entries whose hash has the same low half.
func (x *index) all(hash uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		if x.used == 0 {
			return
		}
		for p := x.home(hash << 32); ; p = x.after(p) {
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
	p := x.home(slot)
	for x.slots[p] != 0 {
		p = x.after(p)
	}
	x.slots[p] = slot
}

func (x *index) grow() {
	was := x.slots
	x.slots = make([]uint64, max(firstSlots, len(was)+len(was)/2))
	for _, slot := range was {
		if slot != 0 {
			x.put(slot)
		}
	}
}

// place returns where a slot is, which must be there.
func (x *index) place(slot uint64) int {
	p := x.home(slot)
	for x.slots[p] != slot {
		p = x.after(p)
	}
	return p
}

// renumber makes entry from, which must be there, entry to.
func (x *index) renumber(hash uint64, from, to int) {
	x.slots[x.place(slotOf(hash, from))] = slotOf(hash, to)
}

// remove takes entry i out, which must be there, and moves back those behind it that
// would no longer be found (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
func (x *index) remove(hash uint64, i int) {
	gap := x.place(slotOf(hash, i))
	x.used--
	for p := x.after(gap); x.slots[p] != 0; p = x.after(p) {
		if home := x.home(x.slots[p]); x.distance(home, p) >= x.distance(gap, p) {
			x.slots[gap] = x.slots[p] // its home is not behind the gap
			gap = p
		}
	}
	x.slots[gap] = 0
}

// distance returns how many slots p is behind from.
func (x *index) distance(from, p int) int {
	if d := p - from; d >= 0 {
		return d
	}
	return p - from + len(x.slots)
}

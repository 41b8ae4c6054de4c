package verifiedmap

import (
	"sync/atomic"

	"github.com/headgate/headgate/bpf"
)

// table is all lines, in memory that the program reads and that other processes write.
type table []line

// line has entries: a source's tag in the low half, and above it the tick at which it ends. So of two
// entries the lower one ends first, and one that is free or has ended is below all that count.
type line [bpf.VerifiedPerLine]uint64

const tagBits = 32

// add makes a tag end at a tick, or later where it does already.
func (l *line) add(tag, until uint32) {
	entry := uint64(until)<<tagBits | uint64(tag)
	for {
		n, held := l.room(tag)
		if held >= entry || atomic.CompareAndSwapUint64(&l[n], held, entry) {
			return
		}
	}
}

// room returns the entry of a tag or, where it has none, the one that ends first.
func (l *line) room(tag uint32) (n int, held uint64) {
	for i := range l {
		entry := atomic.LoadUint64(&l[i])
		if uint32(entry) == tag && entry != 0 {
			return i, entry
		}
		if i == 0 || entry < held {
			n, held = i, entry
		}
	}
	return n, held
}

// remove ends a tag. Two processes that added it at once may have left two entries.
func (l *line) remove(tag uint32) {
	for i := range l {
		// Again where it was renewed meanwhile, but not where it is another's by now.
		for entry := atomic.LoadUint64(&l[i]); uint32(entry) == tag && entry != 0; entry = atomic.LoadUint64(&l[i]) {
			atomic.CompareAndSwapUint64(&l[i], entry, 0)
		}
	}
}

// has reports whether a tag counts at a tick, as line_has in bpf/include/verified.h does.
func (l *line) has(tag, tick uint32) bool {
	for i := range l {
		if entry := atomic.LoadUint64(&l[i]); uint32(entry) == tag && uint32(entry>>tagBits) > tick {
			return true
		}
	}
	return false
}

// count returns how many entries count at a tick.
func (t table) count(tick uint32) (n int) {
	for i := range t {
		for j := range t[i] {
			if uint32(atomic.LoadUint64(&t[i][j])>>tagBits) > tick {
				n++
			}
		}
	}
	return n
}

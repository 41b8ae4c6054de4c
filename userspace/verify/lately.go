package verify

import (
	"hash/maphash"
	"net/netip"
	"sync/atomic"
	"time"
)

const (
	lineCount = 1 << 14
	perLine   = 4
	tagBits   = 32
)

// lately is a table of fixed size of the addresses that were told of, each until it is to be again. An entry
// has 32 bits of the address's hash below, and above the first second in which it does not count: 0 for none. So
// in a line that is full the lowest entry, which ends first, makes room; that address is told of again too early, and
// one in a thousand million too late.
//
// Two that look at the same time may both be the first. All that costs is to tell twice.
type lately struct {
	seed  maphash.Seed
	lines [lineCount][perLine]atomic.Uint64
}

func newLately() *lately { return &lately{seed: maphash.MakeSeed()} }

// note notes an address until a time, and reports whether it was not there.
func (l *lately) note(addr netip.Addr, now, until time.Duration) bool {
	line, tag := l.place(addr)
	second := uint32(now / time.Second)
	oldest, lowest := 0, uint64(1<<64-1)
	for i := range line {
		entry := line[i].Load()
		ends := uint32(entry >> tagBits)
		if uint32(entry) == tag && ends > second {
			return false
		}
		if uint32(entry) == tag { // its own entry, which has ended
			entry = 0
		}
		if entry < lowest {
			oldest, lowest = i, entry
		}
	}
	line[oldest].Store(uint64(until/time.Second)<<tagBits | uint64(tag))
	return true
}

// forget makes an address one that was not told of.
func (l *lately) forget(addr netip.Addr) {
	line, tag := l.place(addr)
	for i := range line {
		if entry := line[i].Load(); uint32(entry) == tag {
			line[i].CompareAndSwap(entry, 0)
		}
	}
}

// place returns an address's line, and its tag there.
func (l *lately) place(addr netip.Addr) (line *[perLine]atomic.Uint64, tag uint32) {
	b := addr.As16()
	hash := maphash.Bytes(l.seed, b[:])
	return &l.lines[hash>>tagBits%lineCount], uint32(hash)
}

package sketch

import (
	"sync/atomic"
)

// A word of cells is the low tagBits of the number of a window, and below that what was counted in it.
const (
	countBits = 44
	tagBits   = 64 - countBits
	mostCount = 1<<(countBits-1) - 1
)

// cells counts keys in numbered windows, of which it remembers the latest and the one before.
//
// Windows are told apart by a tag in each word, so that a new window needs no sweep: what has the
// tag of another window counts as 0, and the first that adds to a word replaces it. Who still adds to
// a window while others go on to the next adds to that window and to no other.
//
// Tags come round after 2^tagBits windows. So that no word looks like new then, each window renews
// a few words that nobody used, all of them in far less windows than that.
type cells struct {
	rows  rows
	pairs [][2]atomic.Uint64 // row by row; even windows, odd windows
}

func newCells(r rows) cells {
	return cells{rows: r, pairs: make([][2]atomic.Uint64, r.total())}
}

// add counts n of key in a window, and returns the estimate with it.
func (c *cells) add(window, key uint64, n int64) int64 {
	n = clamped(n)
	least := int64(mostCount)
	for row := range c.rows.hashes {
		least = min(least, addWord(c.word(row, key, window), window, n))
	}
	return least
}

// get returns the estimate of key in a window, 0 in one that is forgotten or has not begun.
func (c *cells) get(window, key uint64) int64 {
	least := int64(mostCount)
	for row := range c.rows.hashes {
		word := c.word(row, key, window).Load()
		if age(window, word) != 0 {
			return 0
		}
		least = min(least, countOf(word))
	}
	return least
}

// renew forgets a few words that were last used before the window that precedes this one.
func (c *cells) renew(window uint64) {
	// Each is met once in a quarter of the windows whose age can be told.
	turns := uint64(1) << (tagBits - 3)
	for turn := window % turns; turn < uint64(len(c.pairs)); turn += turns {
		for parity := range c.pairs[turn] {
			word := &c.pairs[turn][parity]
			if old := word.Load(); age(window, old) > 1 {
				word.CompareAndSwap(old, pack(window, 0))
			}
		}
	}
}

func (c *cells) word(row int, key, window uint64) *atomic.Uint64 {
	return &c.pairs[c.rows.slot(row, key)][window&1]
}

func addWord(word *atomic.Uint64, window uint64, n int64) int64 {
	for {
		old, sum := word.Load(), n
		switch at := age(window, old); {
		case at == 0:
			sum = clamped(countOf(old) + n)
		case at < 0: // the window is forgotten
			return n
		}
		if word.CompareAndSwap(old, pack(window, sum)) {
			return sum
		}
	}
}

func pack(window uint64, count int64) uint64 {
	return window<<countBits | uint64(count)<<tagBits>>tagBits
}

func countOf(word uint64) int64 { return int64(word<<tagBits) >> tagBits }

// age returns how many windows before window the word was counted in; negative for a later one.
func age(window, word uint64) int64 { return int64((window-word>>countBits)<<countBits) >> countBits }

func clamped(n int64) int64 { return min(max(n, -mostCount), mostCount) }

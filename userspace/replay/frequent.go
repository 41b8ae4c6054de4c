package replay

import (
	"cmp"
	"slices"
	"strings"
)

// counters is how many keys a frequent counts, with about 200 bytes each.
const counters = 1 << 16

// frequent finds the most frequent of any number of keys in constant memory: Space-Saving (Metwally,
// Agrawal and El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams", 2005).
// Up to 65,536 keys are counted exactly. Of more, a new key takes the place of the one with the lowest
// count and begins with that, by which it may thus be too high: at most a 65,536th of all that was counted.
// Each key that makes up more than that is among those counted.
type frequent struct {
	of   map[string]*counted
	heap []*counted // the lowest count first, once ordered
	// ordered says that the order is kept: from when a key has to make room.
	ordered bool
}

// counted is a key and how often it was counted.
type counted struct {
	key string
	// count is too high by at most tooMany.
	count, tooMany uint64
	// over is how many of them were over a limit: too low by at most tooMany.
	over uint64
	at   int // in heap
}

func newFrequent() *frequent { return &frequent{of: make(map[string]*counted)} }

// add counts key once. It keeps no view of it.
func (f *frequent) add(key []byte, over bool) {
	c, known := f.of[string(key)]
	switch {
	case known:
	case len(f.heap) < counters:
		c = &counted{key: string(key), at: len(f.heap)}
		f.heap = append(f.heap, c)
		f.of[c.key] = c
	default:
		f.order()
		c = f.replace(string(key))
	}
	c.count++
	if over {
		c.over++
	}
	if f.ordered {
		f.down(c.at)
	}
}

func (f *frequent) order() {
	if f.ordered {
		return
	}
	f.ordered = true
	for i := len(f.heap) / 2; i >= 0; i-- {
		f.down(i)
	}
}

// replace puts key in the place of the one with the lowest count.
func (f *frequent) replace(key string) *counted {
	lowest := f.heap[0]
	delete(f.of, lowest.key)
	*lowest = counted{key: key, count: lowest.count, tooMany: lowest.count}
	f.of[key] = lowest
	return lowest
}

// down moves what is at i to where it belongs, after it was counted.
func (f *frequent) down(i int) {
	for {
		lowest := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(f.heap); child++ {
			if f.heap[child].count < f.heap[lowest].count {
				lowest = child
			}
		}
		if lowest == i {
			return
		}
		f.swap(i, lowest)
		i = lowest
	}
}

func (f *frequent) swap(i, j int) {
	f.heap[i], f.heap[j] = f.heap[j], f.heap[i]
	f.heap[i].at, f.heap[j].at = i, j
}

// top returns the n most frequent, the most frequent first; of equals the lower key first.
func (f *frequent) top(n int) []*counted {
	all := slices.SortedFunc(slices.Values(f.heap), func(a, b *counted) int {
		return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(a.key, b.key))
	})
	return all[:min(n, len(all))]
}

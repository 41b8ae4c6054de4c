package verifiedmap

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/bpf"
)

// model is what a line should hold: until when each tag counts.
type model map[uint32]uint32

func (m model) add(tag, until uint32) {
	if held, ok := m[tag]; ok {
		m[tag] = max(held, until)
		return
	}
	if len(m) < bpf.VerifiedPerLine {
		m[tag] = until
		return
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(m)), func(a, b uint32) int { return int(m[a]) - int(m[b]) })
	if m[first] < until {
		delete(m, first)
		m[tag] = until
	}
}

// A line keeps those that last longest, whatever is added and removed in whatever order.
func TestLineEqualsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l line
		m := model{}
		ends := rapid.Permutation(series(100)).Draw(t, "ends") // which of two that end at once goes is left open
		for _, until := range ends {
			tag := rapid.Uint32Range(0, 11).Draw(t, "tag") // 0 is a tag as any
			if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
				l.remove(tag)
				delete(m, tag)
			} else {
				l.add(tag, until)
				m.add(tag, until)
			}
			tick := rapid.Uint32Range(0, 100).Draw(t, "tick")
			count := 0
			for tag := range uint32(12) {
				want := m[tag] > tick
				if want {
					count++
				}
				if got := l.has(tag, tick); got != want {
					t.Fatalf("tag %d at %d: %t, want %t of %v\n%x", tag, tick, got, want, m, l)
				}
			}
			if got := (table{l}).count(tick); got != count {
				t.Fatalf("%d count, want %d", got, count)
			}
		}
	})
}

// series returns 1 to n.
func series(n uint32) (all []uint32) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

// Of what several writers add at once nothing is lost.
func TestWritersTogether(t *testing.T) {
	for range 1000 {
		var l line
		var group sync.WaitGroup
		for tag := range uint32(bpf.VerifiedPerLine) {
			group.Go(func() { l.add(tag+1, tag+10) })
		}
		group.Wait()
		for tag := range uint32(bpf.VerifiedPerLine) {
			if !l.has(tag+1, tag+9) {
				t.Fatalf("tag %d is lost: %x", tag+1, l)
			}
		}
	}
}

// Two writers may leave two entries for one tag; it is removed with both.
func TestRemoveTwins(t *testing.T) {
	l := line{5<<tagBits | 7, 6<<tagBits | 8, 9<<tagBits | 7}
	l.remove(7)
	if want := (line{0, 6<<tagBits | 8}); l != want {
		t.Errorf("%x, want %x", l, want)
	}
}

func TestTickOf(t *testing.T) {
	const tick = 1 << bpf.VerifiedTickShift
	for until, want := range map[uint64]uint32{
		0: 0, 1: 1, tick: 1, tick + 1: 2, 1<<62 - 1: 1<<32 - 1, 1 << 62: 1<<32 - 1, bpf.Forever: 1<<32 - 1,
	} {
		if got := tickOf(until); got != want {
			t.Errorf("the tick of %d is %d, want %d", until, got, want)
		}
	}
}

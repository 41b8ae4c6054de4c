package replay

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Up to as many keys as are counted, all counts are exact.
func TestFrequentIsExact(t *testing.T) {
	f := newFrequent()
	want := map[string]uint64{}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		key := fmt.Sprint(random.IntN(counters))
		want[key]++
		f.add([]byte(key), key < "5")
	}
	for _, c := range f.top(len(want) + 1) {
		over := uint64(0)
		if c.key < "5" {
			over = c.count
		}
		if c.count != want[c.key] || c.tooMany != 0 || c.over != over {
			t.Fatalf("%+v, want %d", c, want[c.key])
		}
	}
}

// Beyond, each count is too high by no more than it says, the true one of over is within the same, and no key that
// makes up more than a counter's share is missing.
func TestFrequentError(t *testing.T) {
	f := newFrequent()
	exact, over := map[string]uint64{}, map[string]uint64{}
	random := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(random, 1.1, 1, 1<<20)
	const n = 1_000_000
	for i := range n {
		key := fmt.Sprint(zipf.Uint64())
		if i%3 == 0 {
			key = fmt.Sprint("once", i)
		}
		exact[key]++
		if i%2 == 0 {
			over[key]++
		}
		f.add([]byte(key), i%2 == 0)
	}
	if len(f.heap) != counters || len(f.of) != counters || len(exact) <= counters {
		t.Fatalf("%d and %d are counted, of %d", len(f.heap), len(f.of), len(exact))
	}
	for _, c := range f.heap {
		if true := exact[c.key]; c.count < true || c.count-c.tooMany > true || c.tooMany > n/counters {
			t.Fatalf("%+v, want %d", c, true)
		}
		if true := over[c.key]; c.over > true || c.over+c.tooMany < true {
			t.Fatalf("%+v, want %d over", c, true)
		}
	}
	checkOrder(t, f)
	for key, count := range exact {
		if c := f.of[key]; count > n/counters && c == nil {
			t.Errorf("%s, counted %d times, is missing", key, count)
		}
	}
	top := f.top(10)
	for i := range top[1:] {
		if top[i].count < top[i+1].count {
			t.Errorf("%+v before %+v", top[i], top[i+1])
		}
	}
}

// When a key has to make room for the first time, it is one with the lowest count.
func TestFrequentMakesRoom(t *testing.T) {
	f := newFrequent()
	for i := range counters {
		for range 2 + i*7919%5 {
			f.add(fmt.Append(nil, i), false)
		}
	}
	f.add([]byte("new"), false)
	checkOrder(t, f)
	if c := f.of["new"]; c.count != 3 || c.tooMany != 2 || len(f.of) != counters {
		t.Errorf("%+v, of %d", c, len(f.of))
	}
}

func checkOrder(t *testing.T, f *frequent) {
	t.Helper()
	for i, c := range f.heap {
		if c.at != i || f.of[c.key] != c || f.heap[max(0, i-1)/2].count > c.count {
			t.Fatalf("%d: %+v is not in its place", i, c)
		}
	}
}

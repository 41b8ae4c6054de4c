package keyed

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// spread makes low halves of hashes that begin at both ends of an index.
const spread = 1<<32/41 + 1

// Few different hashes, so that probes run into each other and around the end.
func TestIndexEqualsMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x index
		model := map[int]uint64{} // entry → hash
		hash := rapid.Custom(func(t *rapid.T) uint64 {
			return rapid.Uint64Range(0, 40).Draw(t, "low")*spread | rapid.Uint64Range(0, 3).Draw(t, "high")<<40
		})
		for i := range rapid.IntRange(0, 200).Draw(t, "steps") {
			change := "add"
			if len(model) > 0 {
				change = rapid.SampledFrom([]string{"add", "add", "remove", "renumber"}).Draw(t, "change")
			}
			switch change {
			case "add":
				h := hash.Draw(t, "hash")
				x.add(h, i)
				model[i] = h
			default:
				was := rapid.SampledFrom(slices.Sorted(maps.Keys(model))).Draw(t, "entry")
				h := model[was]
				delete(model, was)
				if change == "remove" {
					x.remove(h, was)
					break
				}
				x.renumber(h, was, i)
				model[i] = h
			}
			compare(t, &x, model)
		}
	})
}

// compare checks that each entry is found once by its hash, and nothing else is.
func compare(t *rapid.T, x *index, model map[int]uint64) {
	if x.used != len(model) || x.used > 0 && 4*(x.used-1) >= 3*len(x.slots) {
		t.Fatalf("%d of %d slots used for %d entries", x.used, len(x.slots), len(model))
	}
	want := map[uint32][]int{}
	for i, h := range model {
		want[uint32(h)] = append(want[uint32(h)], i)
	}
	for i := range uint32(41) {
		h := i * spread
		got := slices.Sorted(x.all(uint64(h)))
		slices.Sort(want[h])
		if !slices.Equal(got, want[h]) {
			t.Fatalf("hash %d finds %v, want %v", h, got, want[h])
		}
	}
}

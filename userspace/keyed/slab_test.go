package keyed

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSlabEqualsSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s slab[int]
		var model []int
		for i := range rapid.IntRange(0, 400).Draw(t, "steps") {
			if len(model) > 0 && rapid.IntRange(0, 3).Draw(t, "pop") == 0 {
				s.pop()
				model = model[:len(model)-1]
				continue
			}
			n := s.push()
			if n != len(model) || *s.at(n) != 0 {
				t.Fatalf("element %d is pushed with number %d and value %d", len(model), n, *s.at(n))
			}
			*s.at(n) = i + 1
			model = append(model, i+1)
		}
		for i, want := range model {
			if got := *s.at(i); got != want {
				t.Fatalf("element %d is %d, want %d", i, got, want)
			}
		}
		if s.len != len(model) {
			t.Fatalf("%d elements, want %d", s.len, len(model))
		}
	})
}

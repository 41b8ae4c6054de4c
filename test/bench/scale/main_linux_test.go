package main

import (
	"io"
	"testing"
	"time"

	"github.com/headgate/headgate/test/need"
)

func TestMapSize(t *testing.T) {
	for sources, want := range map[uint64]uint32{1000: 1 << 10, 1 << 10: 1 << 10, 1025: 1 << 11, 1_000_000: 1 << 20, 4_000_000: 1 << 22} {
		if got := mapSize(sources); got != want {
			t.Errorf("mapSize(%d) = %d, want %d", sources, got, want)
		}
	}
}

// TestMeasureAll runs everything, far too shortly for figures to mean something.
func TestMeasureAll(t *testing.T) {
	need.Root(t)
	need.CPUs(t, 2)
	p := plan{rounds: 1, repeat: 2000, warmUp: 1, largest: 10_000, handoffs: 1000, together: time.Millisecond}
	r, err := measureAll(p, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Sizes) != 2 || r.Sizes[0].Sources != 1000 || r.Sizes[1].Sources != 10_000 {
		t.Errorf("sizes %+v", r.Sizes)
	}
	if len(r.CPUs) != len(traffics()) || r.Line <= 0 {
		t.Errorf("CPUs %+v, line %v", r.CPUs, r.Line)
	}
	for _, c := range r.CPUs {
		if c.One <= 0 || c.Two <= 0 {
			t.Errorf("%+v", c)
		}
	}
}

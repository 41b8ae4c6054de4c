package redisstore

import (
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/shared"
)

// TestNoMoreThanABatchIsHeld: also where units come back that others were taken for meanwhile.
func TestNoMoreThanABatchIsHeld(t *testing.T) {
	lim, err := termsOf(shared.Limit{Algorithm: config.Window, Count: 100, Per: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	const batch = 5
	var h holding
	for range batch {
		h.spend(lim, 1, 0) // it is asked for often
	}
	if n := h.want(batch, 0); n != batch {
		t.Fatalf("wants %d", n)
	}
	if n := h.want(batch, 0); n != 0 {
		t.Errorf("wants %d more while they are asked for", n)
	}
	h.got(lim, batch, batch, state{x: 1, left: 3600_000_000}, 0)
	_, number, _ := h.spend(lim, 4, 0)
	if n := h.want(batch, 0); n != 4 {
		t.Errorf("wants %d for the 4 that were spent", n)
	}
	h.got(lim, 4, 4, state{x: 10, left: 3600_000_000}, 0)
	if !h.putBack(4, number, 0) || h.units != batch {
		t.Errorf("%d are held", h.units)
	}
	if h.putBack(1, number+1, 0) || h.putBack(1, number, held) {
		t.Error("a unit was put back that has ended")
	}
	if _, _, ok := h.spend(lim, batch+1, 0); ok {
		t.Error("more was spent than held")
	}
	h.spend(lim, 4, held/2)
	h.got(lim, h.want(batch, held/2), 1, state{x: 11, left: 3600_000_000}, held/2)
	if _, _, ok := h.spend(lim, 2, held-1); !ok {
		t.Error("what was held ended early")
	}
	h.got(lim, h.want(batch, held-1), 0, state{}, held-1) // nothing fits any more
	if n := h.want(batch, held-1); n != batch {
		t.Errorf("wants %d after nothing was got", n)
	}
}

// TestHeldTogetherEndTogether: units that are left end when they would have, and those that were got later with them.
func TestHeldTogetherEndTogether(t *testing.T) {
	lim, err := termsOf(shared.Limit{Algorithm: config.Leaky, Count: 1, Per: time.Hour, Burst: 99})
	if err != nil {
		t.Fatal(err)
	}
	var h holding
	h.got(lim, 0, 3, state{}, 0)
	h.got(lim, 0, 3, state{}, held/2)
	if _, _, ok := h.spend(lim, 1, held); ok {
		t.Error("spent after the end")
	}
}

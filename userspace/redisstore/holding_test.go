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
}

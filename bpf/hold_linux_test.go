package bpf_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/progtest"
)

// A cell is not written with every packet, also where the kernel's tick is behind the clock: it begins a
// while after the boot, and stands still while the machine sleeps.
func TestHoldOfLateTick(t *testing.T) {
	need.Root(t)
	lab := progtest.New(t, progtest.Options{Heat: progtest.Heat{Late: int(time.Minute / progtest.Tick)}})
	lab.SetDefault(progtest.Packets("100pps", 100))
	wantRuns(t, lab, underLimit, udp(alice))
	before := lab.Cells()
	lab.Advance(time.Millisecond)
	wantRuns(t, lab, underLimit, udp(alice))
	if diff := cmp.Diff(before, lab.Cells()); diff != "" {
		t.Errorf("the cell was written (-first packet +second):\n%s", diff)
	}
}

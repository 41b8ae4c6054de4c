package rulemap_test

import (
	"errors"
	"testing"

	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/test/progtest"
)

// Where there is no room for all, none is set, and all is as it was.
func TestFullTableChangesNothing(t *testing.T) {
	lab := newLab(t, 3)
	before := []rulemap.Rule{progtest.Block("10.0.0.1/32"), progtest.Block("10.0.0.2/32")}
	lab.SetRules(before...)
	_, err := lab.Rules.SetAll([]rulemap.Rule{
		progtest.Allow("10.0.0.1/32"), progtest.Block("10.0.0.3/32"), progtest.Block("10.0.0.4/32"),
		progtest.Block("::/0"),
	}, nil)
	if !errors.Is(err, rulemap.ErrFull) {
		t.Errorf("%v, want ErrFull", err)
	}
	wantRules(t, lab, before...)
	wantCounts(t, lab, 2, 0)

	// One more of a family fits, as do changes of what is there.
	third := progtest.Block("10.0.0.3/32")
	lab.SetRules(progtest.Block("10.0.0.1/32"), third, progtest.Block("::/0"))
	wantRules(t, lab, append(before, third, progtest.Block("::/0"))...)
	wantCounts(t, lab, 3, 1)
}

// A rule that cannot be encoded is found before any is written.
func TestBadLimitChangesNothing(t *testing.T) {
	lab := newLab(t, 0)
	bad := progtest.Limit("10.0.0.2/32", 1, progtest.Packets("1pps", 0))
	_, err := lab.Rules.SetAll([]rulemap.Rule{progtest.Block("10.0.0.1/32"), bad}, nil)
	if err == nil {
		t.Error("a burst of 0 is no error")
	}
	wantRules(t, lab)
	wantCounts(t, lab, 0, 0)
}

// What the kernel refuses half way is taken back: the table has fewer places than is counted.
func TestSetAllRollsBack(t *testing.T) {
	lab := newLab(t, 3)
	kept := []rulemap.Rule{progtest.Block("10.0.0.1/32"), progtest.Block("10.0.0.2/32")}
	lab.SetRules(kept...)
	// As if the count were wrong: the kernel will find the map full at the second new prefix.
	setCounts(t, lab, 0, 0)
	_, err := lab.Rules.SetAll([]rulemap.Rule{
		progtest.Allow("10.0.0.1/32"), progtest.Block("10.0.0.3/32"), progtest.Block("10.0.0.4/32"),
	}, nil)
	if err == nil {
		t.Error("a write beyond the table is no error")
	}
	wantRules(t, lab, kept...)
	wantCounts(t, lab, 2, 0)
}

// A SetAll that was killed had counted its rules and not written them. That does not take their
// room for good, whether the table is small enough to be swept each time or not.
func TestCountsTooHigh(t *testing.T) {
	for _, tooHigh := range []uint64{3, 1 << 20} {
		lab := newLab(t, 3)
		kept := progtest.Block("10.0.0.1/32")
		lab.SetRules(kept)
		setCounts(t, lab, tooHigh, tooHigh)
		more := []rulemap.Rule{progtest.Block("10.0.0.2/32"), progtest.Block("10.0.0.3/32"), progtest.Block("::1/128")}
		if _, err := lab.Rules.SetAll(more, nil); err != nil {
			t.Errorf("counts of %d: %v", tooHigh, err)
			continue
		}
		wantRules(t, lab, append([]rulemap.Rule{kept}, more...)...)
		wantCounts(t, lab, 3, 1)
	}
}

package sketch

import (
	"testing"
	"time"
)

// A step that a goroutine began and did not get round to finish is finished by the next, where the first
// wanted it.
func TestHalfAStepIsCompleted(t *testing.T) {
	w := windows{interval: time.Second}
	w.starts[1].Store(int64(1100 * time.Millisecond))
	if number, began := w.step(1500 * time.Millisecond); number != 1 || !began {
		t.Errorf("step: %d, %v; want 1, true", number, began)
	}
	if _, past := w.at(1500 * time.Millisecond); past != 400*time.Millisecond {
		t.Errorf("the window began %s ago, want 400ms", past)
	}
}

// However long nobody came, there are two steps: one forgets the current window, one the one before.
func TestLongIdleIsTwoSteps(t *testing.T) {
	for _, aligned := range []bool{false, true} {
		w := windows{interval: 3, aligned: aligned}
		for want := uint64(1); want <= 2; want++ {
			if number, began := w.step(1 << 62); number != want || !began {
				t.Errorf("aligned %v: step %d, %v; want %d, true", aligned, number, began, want)
			}
		}
		number, began := w.step(1 << 62)
		_, past := w.at(1 << 62)
		if lag := time.Duration(1 << 62 % 3); number != 2 || began || aligned && past != lag || !aligned && past != 0 {
			t.Errorf("aligned %v: %d, %v, begun %dns ago", aligned, number, began, past)
		}
	}
}

// Who comes with the time of before the window began is at its start.
func TestEarlierNowIsTheStart(t *testing.T) {
	w := windows{interval: time.Second}
	w.step(1500 * time.Millisecond)
	for _, now := range []time.Duration{1500 * time.Millisecond, 1400 * time.Millisecond, 0, -1, -1 << 63} {
		if number, past := w.at(now); number != 1 || past != 0 {
			t.Errorf("at %s: window %d, begun %s ago; want 1, 0s", now, number, past)
		}
	}
}

// Who still adds to a window whose words are used for a later one does not count, and takes nothing from that.
func TestLateAddChangesNothing(t *testing.T) {
	c := newCells(newRows(EstimatorOptions{Hashes: 2, Slots: 4}))
	c.add(3, 7, 10)
	c.add(5, 7, 20) // in the words of window 3
	if got := c.add(3, 7, 1); got != 1 {
		t.Errorf("added late: %d, want 1", got)
	}
	if late, now := c.get(3, 7), c.get(5, 7); late != 0 || now != 20 {
		t.Errorf("%d in the window that is forgotten, %d in the later one; want 0, 20", late, now)
	}
}

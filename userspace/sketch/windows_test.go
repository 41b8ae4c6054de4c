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

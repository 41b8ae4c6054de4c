package demo

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

const (
	hour        = int64(time.Hour)
	millisecond = int64(time.Millisecond)
)

func params(tb rapid.TB, perSecond, burst uint64) limit.Params {
	p, err := limit.Compile(rate.Rate{Count: perSecond, Per: time.Second}, burst)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// world is a theory, and a bucket that knows when each packet arrives.
type world struct {
	*theory
	params   limit.Params
	state    limit.State
	now      int64 // the end of the last window
	admitted uint64
}

func newWorld(p limit.Params) *world {
	return &world{theory: newTheory(p, hour), params: p, state: p.Fresh(uint64(hour)), now: hour}
}

// arrive has packets arrive, after a pause, at times since the start of the window.
func (w *world) arrive(pause, length int64, times []int64) {
	start := w.now + pause
	slices.Sort(times)
	for _, at := range times {
		if w.params.Take(&w.state, 1, uint64(start+at)) {
			w.admitted++
		}
	}
	w.now = start + length
	w.theory.arrive(len(times), len(times), window{start, w.now})
}

func (w *world) change(p limit.Params) {
	w.theory.change(p)
	w.state = p.Convert(w.state, w.params.Shift, uint64(w.now))
	w.params, w.admitted = p, 0
}

func (w *world) check(t *rapid.T) {
	least, most := w.bounds()
	if w.admitted < least || w.admitted > most {
		t.Fatalf("%d admitted, and theory says %d to %d", w.admitted, least, most)
	}
}

func drawLimit(t *rapid.T) limit.Params {
	return params(t, rapid.Uint64Range(1, 5000).Draw(t, "rate"), rapid.Uint64Range(1, 200).Draw(t, "burst"))
}

// Whatever is sent, whenever it arrives, and however the limit changes: what is admitted is within
// the bounds.
func TestBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(drawLimit(t))
		for range rapid.IntRange(1, 40).Draw(t, "ticks") {
			if rapid.IntRange(0, 9).Draw(t, "change") == 0 {
				w.change(drawLimit(t))
			}
			length := rapid.Int64Range(0, 50*millisecond).Draw(t, "length")
			times := rapid.SliceOfN(rapid.Int64Range(0, length), 0, 60).Draw(t, "times")
			w.arrive(rapid.Int64Range(0, 100*millisecond).Draw(t, "pause"), length, times)
			w.check(t)
		}
	})
}

// Who never sends more than there is room for loses nothing, and theory knows it.
func TestRoomIsSure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(drawLimit(t))
		sent := uint64(0)
		for range rapid.IntRange(1, 40).Draw(t, "ticks") {
			pause := rapid.Int64Range(0, 100*millisecond).Draw(t, "pause")
			length := rapid.Int64Range(0, 50*millisecond).Draw(t, "length")
			n := w.room(w.now + pause)
			w.arrive(pause, length, rapid.SliceOfN(rapid.Int64Range(0, length), n, n).Draw(t, "times"))
			sent += uint64(n)
		}
		if least, most := w.bounds(); w.admitted != sent || least != sent || most != sent {
			t.Fatalf("%d sent, %d admitted, and theory says %d to %d", sent, w.admitted, least, most)
		}
	})
}

// The bounds are of use only where they are narrow.
func TestBoundsOfFlood(t *testing.T) {
	const length = millisecond
	fast, slow := params(t, 1000, 100), params(t, 100, 10)
	w := newWorld(fast)
	flood := func(ticks int) (least, most uint64) {
		for range ticks {
			w.arrive(9*millisecond, length, slices.Repeat([]int64{length / 2}, 300))
		}
		return w.bounds()
	}
	expect := func(name string, least, most, wantLeast, wantMost uint64) {
		t.Helper()
		if least != wantLeast || most != wantMost || w.admitted < least || w.admitted > most {
			t.Errorf("%s: %d admitted, theory says %d to %d, want %d to %d", name, w.admitted, least, most, wantLeast, wantMost)
		}
	}
	// The first packets came after 9 to 10 ms, the last ones after 999 to 1000 ms; so 100 had time
	// for 989 to 991 more, and the clocks may be wrong.
	least, most := flood(100)
	expect("from idle", least, most, 1088, 1091)
	w.change(slow)
	least, most = flood(100)
	expect("lowered", least, most, 99, 100)
	// Nothing says how much of the 10 ms between two packets was over.
	w.change(fast)
	least, most = flood(100)
	expect("lifted", least, most, 998, 1013)
}

// While a rule may be blocking or not, all or nothing may pass.
func TestUncertainBlock(t *testing.T) {
	limited := newTheory(params(t, 1000, 100), hour)
	limited.arrive(0, 300, window{hour, hour})
	if least, most := limited.bounds(); least != 0 || most != 100 {
		t.Errorf("theory says %d to %d, want 0 to 100", least, most)
	}
}

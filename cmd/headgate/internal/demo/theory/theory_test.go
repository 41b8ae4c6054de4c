package theory

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
	*Theory
	params   limit.Params
	state    limit.State
	now      int64 // the end of the last window
	admitted uint64
}

func newWorld(p limit.Params) *world {
	return &world{Theory: New(p, hour), params: p, state: p.Fresh(uint64(hour)), now: hour}
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
	w.Arrive(len(times), len(times), Window{start, w.now})
}

func (w *world) change(p limit.Params) {
	w.Change(p)
	w.state = p.Convert(w.state, w.params.Shift, uint64(w.now))
	w.params, w.admitted = p, 0
}

func (w *world) check(t *rapid.T) {
	if bounds := w.Bounds(); !bounds.Contains(w.admitted) {
		t.Fatalf("%d admitted, and theory says %s", w.admitted, bounds)
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
			n := w.Room(w.now + pause)
			w.arrive(pause, length, rapid.SliceOfN(rapid.Int64Range(0, length), n, n).Draw(t, "times"))
			sent += uint64(n)
		}
		if bounds := w.Bounds(); w.admitted != sent || bounds != Exactly(sent) {
			t.Fatalf("%d sent, %d admitted, and theory says %s", sent, w.admitted, bounds)
		}
	})
}

// The bounds are of use only where they are narrow.
func TestBoundsOfFlood(t *testing.T) {
	const length = millisecond
	fast, slow := params(t, 1000, 100), params(t, 100, 10)
	w := newWorld(fast)
	flood := func(ticks int) Range {
		for range ticks {
			w.arrive(9*millisecond, length, slices.Repeat([]int64{length / 2}, 300))
		}
		return w.Bounds()
	}
	expect := func(name string, got, want Range) {
		t.Helper()
		if got != want || !got.Contains(w.admitted) {
			t.Errorf("%s: %d admitted, theory says %s, want %s", name, w.admitted, got, want)
		}
	}
	// The first packets came after 9 to 10 ms, the last ones after 999 to 1000 ms; so 100 had time
	// for 989 to 991 more, and the clocks may be wrong.
	expect("from idle", flood(100), Range{1088, 1091})
	w.change(slow)
	expect("lowered", flood(100), Range{99, 100})
	// Nothing says how much of the 10 ms between two packets was over.
	w.change(fast)
	expect("lifted", flood(100), Range{998, 1013})
}

// While a rule may be blocking or not, all or nothing may pass.
func TestUncertainBlock(t *testing.T) {
	limited := New(params(t, 1000, 100), hour)
	limited.Arrive(0, 300, Window{hour, hour})
	if got, want := limited.Bounds(), (Range{0, 100}); got != want {
		t.Errorf("theory says %s, want %s", got, want)
	}
}

func TestCredit(t *testing.T) {
	limited := New(params(t, 1000, 100), hour)
	limited.Arrive(40, 40, Window{hour, hour})
	if got := limited.Credit(hour); got < 60 || got > 60.1 {
		t.Errorf("after 40 of 100 at once: %v more, want 60, and what a clock may be wrong by", got)
	}
}

func TestRangeString(t *testing.T) {
	for want, r := range map[string]Range{"105": Exactly(105), "100 to 105": {100, 105}} {
		if got := r.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

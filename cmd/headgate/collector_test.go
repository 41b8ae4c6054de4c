package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		heap, roots uint64
		want        int
	}{
		{4 * mib, 0, 700},
		{3 * mib, mib, 725},
		{4 * mib, 80 * mib, usualPercent}, // as much as that again is more than leastHeap
		{24 * mib, 0, usualPercent},
		{leastHeap, 0, usualPercent},
		{1000 * mib, 0, usualPercent},
		{2 * mib, 0, 800},
		{0, 0, 800},
	} {
		if got := percentFor(c.heap, c.roots); got != c.want {
			t.Errorf("heap %d, roots %d: %d%%, want %d%%", c.heap, c.roots, got, c.want)
		}
	}
}

// goal returns at which size of the heap the next collection ends.
func goal() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// The heap may grow to leastHeap, also after a collection that has found much in use, and no more when the agent has ended.
func TestCollectSeldom(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	stop := (&env{getenv: func(string) string { return "" }}).collectSeldom()
	defer stop()
	const least, most = leastHeap * 3 / 4, leastHeap * 3 / 2
	runtime.GC()
	awaitGoal(t, least, most)
	func() {
		used := make([]byte, 2*leastHeap)
		runtime.GC()
		awaitGoal(t, 4*leastHeap, 6*leastHeap)
		runtime.KeepAlive(used)
	}()
	runtime.GC()
	awaitGoal(t, least, most)
	stop()
	runtime.GC()
	if g := goal(); g >= least {
		t.Errorf("after the end the heap may still have %d bytes", g)
	}
}

// What is adapted after the end is left as it is.
func TestCollectSeldomHasEnded(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	c := &collector{percent: usualPercent}
	c.stop()
	c.adapt()
	if p := debug.SetGCPercent(usualPercent); p != usualPercent {
		t.Errorf("the percentage was made %d", p)
	}
}

// awaitGoal waits until the goal is in bounds. It follows a collection at once, but in another goroutine.
func awaitGoal(t *testing.T, least, most uint64) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		g := goal()
		if g >= least && g <= most {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the heap may have %d bytes, want %d to %d", g, least, most)
		}
	}
}

// Who has said how garbage is to be collected is obeyed.
func TestCollectSeldomNotAsked(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		stop := (&env{getenv: func(n string) string {
			if n == name {
				return "1GiB"
			}
			return ""
		}}).collectSeldom()
		if p := debug.SetGCPercent(usualPercent); p != usualPercent {
			t.Errorf("%s is set, and the percentage was made %d", name, p)
		}
		stop()
	}
}

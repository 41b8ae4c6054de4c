package adaptive

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/config"
)

func configForTest() config.Adaptive {
	return config.Adaptive{
		Interval: time.Second, Errors: 0.5, Floor: 0.1, Ceiling: 1, Increase: 0.1, Decrease: 0.5, Recover: 0.8,
	}
}

// What stuck says is true of real requests, in whatever order they end: as many are under way for as long,
// or longer.
func TestStuckIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var begun []time.Duration
		var s stuck
		now := time.Duration(0)
		for range rapid.IntRange(1, 30).Draw(t, "windows") {
			var ended uint64
			for range rapid.IntRange(0, 20).Draw(t, "steps") {
				now += time.Millisecond
				i := rapid.IntRange(-8, 8).Draw(t, "which")
				if i < 0 || i >= len(begun) {
					begun = append(begun, now)
					continue
				}
				ended++
				begun = append(begun[:i], begun[i+1:]...)
			}
			n, age := s.step(now, ended, len(begun))
			old := 0
			for _, b := range begun {
				if now-b >= age {
					old++
				}
			}
			if old < n {
				t.Fatalf("%d said to be under way for %v, but %d are", n, age, old)
			}
		}
	})
}

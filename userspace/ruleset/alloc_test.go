//go:build !race

// With the race detector sync.Pool forgets some of what is put into it, on purpose.

package ruleset_test

import (
	"testing"
	"time"
)

// TestNoAllocation: neither an allowed nor a refused request allocates once its keys are known.
func TestNoAllocation(t *testing.T) {
	for name, file := range map[string]string{"one": simple, "four": layered} {
		s := newSet(t, file)
		r := items()
		for what, now := range map[string]time.Duration{"at one instant": start, "after a while": start + time.Hour} {
			refused := 0
			got := testing.AllocsPerRun(2000, func() {
				d := s.Decide(r, now)
				if !d.Allowed {
					refused++
				}
				d.Free(now)
			})
			if got != 0 {
				t.Errorf("%s, %s: %v allocations a request", name, what, got)
			}
			if refused == 0 {
				t.Errorf("%s, %s: nothing was refused", name, what)
			}
		}
	}
}

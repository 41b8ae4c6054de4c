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

// TestNoAllocationForAStore: what asking costs beside the store's own work is no memory.
func TestNoAllocationForAStore(t *testing.T) {
	const file = `
http:
  zones: {a: {key: [ip, path], rate: 1000r/s, store: redis}, b: {key: ip, rate: 1000r/s}, c: {key: ip, rate: 1000r/s, store: redis}}
  rules: [{limits: [{zone: a, burst: 100000, nodelay: true}, {zone: b, burst: 100000, nodelay: true}], continue: true}, {limits: [{zone: c, burst: 100000, nodelay: true}]}]
`
	store := new(nothingStore)
	l := machine(t, file, store, 1)
	r := get("/x")
	if got := testing.AllocsPerRun(2000, func() { l.Decide(r, start).Free(start) }); got != 0 {
		t.Errorf("%v allocations a request", got)
	}
	store.err = errDown
	if got := testing.AllocsPerRun(2000, func() { l.Decide(r, start).Free(start) }); got > 2 { // keys and charges that the store may still read are not used again
		t.Errorf("%v allocations a request without the store", got)
	}
}

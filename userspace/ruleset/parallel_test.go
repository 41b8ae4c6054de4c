package ruleset_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headgate/headgate/userspace/ruleset"
)

// TestParallelRequests: of requests at the same time exactly as many pass as the limit for all
// admits, no client gets more than its own, and what is refused is charged to nobody.
func TestParallelRequests(t *testing.T) {
	const perClient, forAll, clients, each = 40, 200, 8, 100
	for _, algorithm := range []string{"leaky", "nginx", "window", "sliding", "sketch"} {
		t.Run(algorithm, func(t *testing.T) {
			burst := func(n int) string {
				if algorithm == "window" || algorithm == "sliding" {
					return ""
				}
				return fmt.Sprintf(", burst: %d, nodelay: true", n-1)
			}
			s := newSet(t, fmt.Sprintf(`
http:
  zones:
    perip: {key: ip, rate: %dr/m, algorithm: %s}
    all:   {key: "const:all", rate: %dr/m, algorithm: %[2]s}
  rules:
    - continue: true
      limits: [{zone: perip%[4]s}]
    - limits: [{zone: all%[5]s}]
`, perClient, algorithm, forAll, burst(perClient), burst(forAll)))

			allowed := storm(s, clients, each)
			total := 0
			for client := range clients {
				n := int(allowed[client].Load())
				total += n
				d := s.Explain(from(fmt.Sprintf("192.0.2.%d", client), "/"), start)
				left := int(d.Limits[0].Result.Remaining)
				if d.Limits[0].Result.Allowed {
					left++ // Explain's own
				}
				equal(t, fmt.Sprintf("client %d: allowed and left", client), n+left, perClient)
			}
			equal(t, "allowed", total, forAll)
			c := zoneCounts(t, s, "all")
			equal(t, "counted as allowed", c.Allowed, forAll)
			equal(t, "counted", c.Allowed+c.Refused+c.Spared, clients*each)
		})
	}
}

// storm sends each requests of each client at once, and returns how many were allowed.
func storm(s *ruleset.Set, clients, each int) []atomic.Int64 {
	allowed := make([]atomic.Int64, clients)
	var all sync.WaitGroup
	for client := range clients {
		r := from(fmt.Sprintf("192.0.2.%d", client), "/")
		for range 2 {
			all.Go(func() {
				for range each / 2 {
					d := s.Decide(r, start)
					if d.Allowed {
						allowed[client].Add(1)
					}
					d.Free(start)
				}
			})
		}
	}
	all.Wait()
	return allowed
}

// TestParallelSlots: never more are under way than there are places, and none is lost.
func TestParallelSlots(t *testing.T) {
	s := newSet(t, slots)
	var now, most atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				d := s.Decide(get("/"), start)
				if d.Allowed && d.Limits[1].Result.Allowed {
					n := now.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					now.Add(-1)
				}
				d.Free(start)
			}
		})
	}
	all.Wait()
	if most.Load() > 3 {
		t.Errorf("%d under way at once", most.Load())
	}
	equal(t, "under way in the end", underWay(s), 0)
}

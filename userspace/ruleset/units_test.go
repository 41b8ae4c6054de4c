package ruleset_test

import (
	"math"
	"testing"

	"github.com/headgate/headgate/userspace/limit"
)

// Units multiply the cost of a request, and not the places that it takes.
func TestUnits(t *testing.T) {
	const file = `
http:
  zones:
    budget: {key: ip, rate: 100r/h, algorithm: window}
    slots:  {key: ip, concurrent: 1}
  rules: [{limits: [{zone: budget, cost: 3}, {zone: slots}]}]
`
	for _, c := range []struct {
		units   uint64
		allowed bool
		left    uint64
	}{{0, true, 97}, {1, true, 97}, {2, true, 94}, {33, true, 1}, {34, false, 100}, {math.MaxUint64/3 + 1, false, 100}, {math.MaxUint64, false, 100}} {
		s := newSet(t, file)
		r := get("/")
		r.Units = c.units
		equal(t, "explained", s.Explain(r, start).Allowed, c.allowed)
		d := s.Decide(r, start)
		equal(t, "allowed", d.Allowed, c.allowed)
		equal(t, "left", d.Limits[0].Result.Remaining, c.left)
		if !c.allowed {
			equal(t, "retry after", d.RetryAfter, limit.Never)
		}
		d.Free(start)
	}
}

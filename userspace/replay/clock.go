package replay

import (
	"math"
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// clock tells limits the time. It stands while requests are older than one above them: a recording in the order in
// which requests ended is not one of a clock that was set back and forth, and limits would take each way forth for
// time that has passed.
type clock struct {
	latest time.Duration
	exact  bool // the time is that of the request
}

// newClock returns one for the limits of h. Those of nginx have a way of their own with a clock that is set back, and
// are told what was recorded; and then all are, as a request has one time.
func newClock(h config.HTTP) clock {
	return clock{latest: math.MinInt64, exact: slices.ContainsFunc(h.Zones, func(z config.Zone) bool {
		return z.Algorithm == config.Nginx
	})}
}

// bootedBefore is how long before time 0 of a recording the machine is taken to have started. nginx counts from then
// and has a key that it sees for the first time, but by a zone that is not the last, as one last used at time 0: a
// burst in its first minutes is another than later. A recording may begin at 0, and is not meant to be of a boot.
const bootedBefore = time.Hour

// sinceBoot returns the time that limits are told for one of the recording.
func sinceBoot(t time.Duration) time.Duration { return after(t, bootedBefore) }

// at returns the time at which r is decided about.
func (c *clock) at(r *Request) time.Duration {
	if c.exact {
		return r.At
	}
	c.latest = max(c.latest, r.At)
	return c.latest
}

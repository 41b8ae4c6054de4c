package ruleset

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/headgate/headgate/userspace/config"
)

// Share is what a zone that machines share lets a key do.
type Share struct {
	Zone      string
	Algorithm config.Algorithm
	// Quota is the rate over all machines as it was written, empty for requests at a time; Slots is how many of those.
	Quota string
	Slots uint64
	// Here is what this machine admits by itself while the store does not answer: "3.333r/s", or "2 at a time".
	Here string
	// Failures are what the rules that use the zone say of that, each once.
	Failures []config.OnStoreFailure
}

// Shares returns the zones that machines share, in the order of the file. It tells of their own limit, and not of overrides.
func (l *Live) Shares() (all []Share) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, z := range l.set.Load().zones {
		if z.isShared {
			all = append(all, z.share())
		}
	}
	return all
}

func (z *zone) share() Share {
	whole, part := z.quotas[0], z.here()[0]
	s := Share{Zone: z.name, Algorithm: z.algorithm, Quota: whole.Text, Slots: whole.slots}
	if z.algorithm == config.Concurrent {
		s.Here = fmt.Sprintf("%d at a time", part.slots)
	} else {
		count := float64(part.Count) * (float64(whole.Per) / float64(part.Per))
		s.Here = strconv.FormatFloat(math.Round(count*fine)/fine, 'f', -1, 64) + "r/" + unitOf(whole.Per)
	}
	for _, u := range z.uses {
		if f := u.rule.onFailure.failure(); !slices.Contains(s.Failures, f) {
			s.Failures = append(s.Failures, f)
		}
	}
	return s
}

// failure is the other way round than wayOf.
func (w Way) failure() config.OnStoreFailure {
	for _, f := range []config.OnStoreFailure{config.FailOpen, config.FailClosed} {
		if wayOf(f) == w {
			return f
		}
	}
	return config.FailLocal
}

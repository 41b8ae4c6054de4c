package ruleset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/shared/bounds"
)

// Scale returns h with all rates of its zones times factor, as near as they can be kept: to a thousandth of the unit that a rate is
// written in, of nginx to a thousandth of a request a second, and with window and sliding whole requests. None becomes
// less than 1r/h, nor a window's count less than 1; none becomes more than 100000000r/s, nor so low that its
// burst would last for 50 days if it did not before. Bursts, and numbers of requests at a time, stay. The
// text of a rate says what is in force: "5r/s (10r/s x 0.5)". Of zones that machines share a rate is kept less finely where it could
// not be counted exactly with its burst, and stays as it is where that is not enough.
//
// h is not changed, and is to be scaled from each time. A factor that is not above 0, or no number, is taken for 1.
func Scale(h config.HTTP, factor float64) config.HTTP {
	if !(factor > 0) || factor == 1 {
		return h
	}
	h.Zones = slices.Clone(h.Zones)
	for i := range h.Zones {
		z := &h.Zones[i]
		s := scaling{factor, z.Algorithm, largestBurst(h.Rules, i), z.Store == config.StoreRedis}
		z.Quota = s.quota(z.Quota)
		z.Overrides = slices.Clone(z.Overrides)
		for j := range z.Overrides {
			z.Overrides[j].Quota = s.quota(z.Overrides[j].Quota)
		}
	}
	return h
}

// scaling is by what the rates of a zone are scaled.
type scaling struct {
	factor    float64
	algorithm config.Algorithm
	burst     uint64 // the largest of the zone
	shared    bool   // by machines
}

func largestBurst(rules []config.Rule, zone int) (most uint64) {
	for _, r := range rules {
		for _, u := range r.Limits {
			if u.Zone == zone {
				most = max(most, u.Burst)
			}
		}
	}
	return most
}

// fine is how many times finer a rate is kept than it is written.
const fine = 1000

// quota returns q scaled; the zero quota, of requests at a time, as it is.
func (s scaling) quota(q config.Quota) config.Quota {
	if q.Count == 0 || q.Per <= 0 {
		return q
	}
	scaled := config.Quota{Per: q.Per * fine}
	switch s.algorithm {
	case config.Window, config.Sliding:
		scaled.Per = q.Per
		scaled.Count = times(q.Count, s.factor, 1, mostPerSecond*seconds(q.Per))
	case config.Nginx:
		scaled.Per = perThousand
		scaled.Count = times(q.Count*perSecond/seconds(q.Per), s.factor, 1, mostPerSecond*perSecond)
	default:
		scaled = s.leaky(q, fine)
		for grain := uint64(fine); s.shared && bounds.Leaky(scaled.Count, scaled.Per, s.burst) != nil; {
			if grain /= 10; grain == 0 {
				return q
			}
			scaled = s.leaky(q, grain)
		}
	}
	scaled.Text = textOf(scaled, q, s.factor)
	return scaled
}

// leaky returns q scaled, as so many times finer than it is written.
func (s scaling) leaky(q config.Quota, finer uint64) config.Quota {
	per := q.Per * time.Duration(finer)
	least := min(q.Count*finer, max(s.leastFor(per), leastIn(per)))
	return config.Quota{Per: per, Count: times(q.Count*finer, s.factor, least, mostPerSecond*seconds(per))}
}

// mostPerSecond is the highest rate, of package rate.
const mostPerSecond = 100_000_000

// perSecond is how many of nginx's units a request a second is.
const perSecond = 1000

func seconds(per time.Duration) uint64 { return max(uint64(per/time.Second), 1) }

// leastIn returns the count of the lowest rate, 1r/h.
func leastIn(per time.Duration) uint64 { return max(uint64((per+time.Hour-1)/time.Hour), 1) }

// longestBurst is what a burst may take to drain. Limits have room for twice that in their finest ticks.
const longestBurst = 50 * 24 * time.Hour

// leastFor returns the count of the lowest rate at which the burst drains in time.
func (s scaling) leastFor(per time.Duration) uint64 {
	need := math.Ceil((float64(s.burst) + 1) * (float64(per) / float64(longestBurst)))
	if need >= math.MaxInt64 {
		return math.MaxInt64
	}
	return uint64(need)
}

// times returns count times factor, rounded, from least to most.
func times(count uint64, factor float64, least, most uint64) uint64 {
	product := math.Round(float64(count) * factor)
	switch {
	case product <= float64(least):
		return least
	case product >= float64(most):
		return most
	}
	return uint64(product)
}

// textOf says what became of a rate, in the unit that it was written in.
func textOf(scaled, written config.Quota, factor float64) string {
	count := float64(scaled.Count) * (float64(written.Per) / float64(scaled.Per))
	text := strconv.FormatFloat(math.Round(count*fine)/fine, 'f', -1, 64)
	return fmt.Sprintf("%sr/%s (%s x %.4g)", text, unitOf(written.Per), written.Text, factor)
}

// unitOf returns the letter of the notation for the time of a rate.
func unitOf(per time.Duration) string {
	switch per {
	case time.Minute:
		return "m"
	case time.Hour:
		return "h"
	default:
		return "s"
	}
}

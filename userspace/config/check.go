package config

import (
	"slices"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/limit/nginx"
	"github.com/headgate/headgate/userspace/rate"
)

// rated remembers a rate of the zone, given at v.
func (z *zone) rated(v value, q Quota) {
	each := interval{q.Count, q.Per}
	if q.Count == 0 || z.known[each] {
		return
	}
	if z.known == nil {
		z.known = make(map[interval]bool)
	}
	z.known[each] = true
	z.rates = append(z.rates, rated{v, q})
}

// checkUse looks for what does not go with the zone's algorithm, or with itself.
func (z *zone) checkUse(m mapping, u Use) {
	burst, nodelay, delay := m.field("burst"), m.field("nodelay"), m.field("delay")
	switch {
	case !z.right:
		return // what follows would be about the wrong algorithm
	case !z.Algorithm.hasBurst():
		for _, v := range []value{burst, nodelay, delay} {
			if v.given() {
				v.fail("%s; remove %s", z.whyNoBurst(), lastOf(v.path))
			}
		}
	case nodelay.given() && delay.given():
		delay.fail("nodelay is given too, and says the same of the whole burst; remove one of them")
	case u.Burst == 0 && m.flag("nodelay"):
		nodelay.warn("nodelay without a burst does nothing; add burst")
	case u.Delay > u.Burst:
		delay.fail("%d is more than the burst of %d; use at most that", u.Delay, u.Burst)
	}
	if most := z.atOnce(u); u.Cost > most {
		m.field("cost").fail("%d is more than the %d that may ever pass at once; %s", u.Cost, most, z.moreAtOnce(u.Cost))
	}
}

// hasBurst reports whether uses of a zone say how many requests may come at one instant.
func (a Algorithm) hasBurst() bool { return a == Leaky || a == Nginx || a == Sketch }

func (z *zone) whyNoBurst() string {
	switch z.Algorithm {
	case Concurrent:
		return "zone " + z.Name + " limits requests at a time, of which all may come at one instant"
	default:
		return "zone " + z.Name + " counts in windows and has no burst: all requests of its rate may come at one instant"
	}
}

// atOnce returns how many units of any key may come at one instant.
func (z *zone) atOnce(u Use) uint64 {
	if z.Algorithm.hasBurst() {
		return u.Burst + 1
	}
	least := max(z.Slots, z.Quota.Count) // one of which is 0
	for _, o := range z.Overrides {
		least = min(least, max(o.Slots, o.Quota.Count))
	}
	return least
}

func (z *zone) moreAtOnce(cost uint64) string {
	switch {
	case z.Algorithm.hasBurst():
		return "use a burst of " + rate.FormatCount(cost-1) + " or more"
	case z.Algorithm == Concurrent:
		return "use concurrent: " + rate.FormatCount(cost) + " or more"
	default:
		return "use a higher rate, also in overrides"
	}
}

// checkZones looks for what shows only when all uses of a zone are known.
func (s *section) checkZones() {
	for _, name := range s.zoneNames() {
		z := s.byName[name]
		switch {
		case !z.right:
		case len(z.uses) == 0:
			z.at.warn("no rule uses the zone; use it in a rule, or remove it")
		case z.Algorithm == Leaky || z.Algorithm == Sketch:
			z.checkLeaky()
			z.checkShared()
		case z.Algorithm == Nginx:
			z.warnOfNginx()
		default:
			z.checkShared()
		}
	}
}

// checkLeaky compiles the limits of each use: with all rates of the zone, as these decide in
// which ticks its states count, and so how large a burst may be.
func (z *zone) checkLeaky() {
	for _, u := range z.uses {
		if u.Delay > u.Burst {
			continue // said already
		}
		if _, err := limit.CompileLeaky(z.specs(u.Use)); err != nil {
			u.at.field("burst").fail("%s", bare(err))
		}
	}
}

// specs returns what a use makes of each rate of the zone.
func (z *zone) specs(u Use) []limit.LeakySpec {
	specs := make([]limit.LeakySpec, len(z.rates))
	for i, r := range z.rates {
		specs[i] = limit.LeakySpec{
			Rate:  rate.Rate{Count: r.Count, Per: r.Per, Unit: rate.Requests},
			Burst: u.Burst,
			Delay: u.Delay,
		}
	}
	return specs
}

// warnOfNginx tells what nginx makes of the rates of the zone.
func (z *zone) warnOfNginx() {
	for _, r := range z.rates {
		kept, err := nginx.RateOf(r.Count, r.Per)
		if err != nil {
			continue // said already
		}
		var said []string
		for _, u := range z.uses {
			for _, text := range kept.Warnings(r.Count, r.Per, u.Burst) {
				if !slices.Contains(said, text) {
					said = append(said, text)
					r.at.warn("%s", text)
				}
			}
		}
	}
}

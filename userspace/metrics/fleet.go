package metrics

import "time"

// Fleet is what this machine knows of the fleet, and did for it. Other members are not named: each exports itself.
type Fleet struct {
	Members int
	// Seen is when the fleet was last seen; zero if it never was.
	Seen time.Time
	// Rules is how many rules of the fleet there are, of at most MaxRules. Spared ones are not in force here.
	Rules, MaxRules, Spared int
	// Rules that this machine published, did not publish as they were too many, and got from others.
	Published, Withheld, Received uint64
	// Behind is how many changes of the rules this machine has not got yet, and Delay how late the last one came.
	Behind uint64
	Delay  time.Duration
}

type fleetFamilies struct {
	members, seen, rules, maxRules, spared, published, withheld, received, behind, delay *family
}

func newFleetFamilies() fleetFamilies {
	return fleetFamilies{
		members: gauge("fleet_members",
			"Machines of the fleet, this one included, when it was last seen."),
		seen: gauge("fleet_last_seen_timestamp_seconds",
			"When the fleet was last seen, in seconds since 1970."),
		rules: gauge("fleet_rules",
			"Kernel rules of the fleet."),
		maxRules: gauge("fleet_max_rules",
			"Kernel rules that the fleet may have."),
		spared: gauge("fleet_spared_rules",
			"Kernel rules of the fleet that are not in force here, as something protects their prefix."),
		published: counter("fleet_published_rules_total",
			"Kernel rules that this machine published."),
		withheld: counter("fleet_withheld_rules_total",
			"Kernel rules that this machine did not publish, as they were too many."),
		received: counter("fleet_received_rules_total",
			"Kernel rules that this machine got from others."),
		behind: gauge("fleet_behind_changes",
			"Changes of the fleet's rules that this machine has not got yet."),
		delay: gauge("fleet_delay_seconds",
			"How late the last change of the fleet's rules came to this machine."),
	}
}

func (f fleetFamilies) all() []*family {
	return []*family{
		f.members, f.seen, f.rules, f.maxRules, f.spared, f.published, f.withheld, f.received, f.behind, f.delay,
	}
}

func (f fleetFamilies) read(s scrape, v *Fleet) {
	if v == nil {
		return
	}
	s.add(f.members, float64(v.Members))
	if !v.Seen.IsZero() {
		s.add(f.seen, float64(v.Seen.UnixMilli())/1e3)
	}
	s.add(f.rules, float64(v.Rules))
	s.add(f.maxRules, float64(v.MaxRules))
	s.add(f.spared, float64(v.Spared))
	s.count(f.published, v.Published)
	s.count(f.withheld, v.Withheld)
	s.count(f.received, v.Received)
	s.count(f.behind, v.Behind)
	s.add(f.delay, v.Delay.Seconds())
}

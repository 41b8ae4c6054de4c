package ruleset

// count counts what became of a request.
func (s *Set) count(d *Decision) {
	s.life.requests.Add(1)
	if d.exempt {
		s.life.exempted.Add(1)
	}
	for _, span := range d.spans {
		d.countRule(span)
	}
	for i := range d.Skipped {
		k := &d.Skipped[i]
		k.rule.tally.add(k.Why.outcome())
		k.zone.record.tally.add(k.Why.outcome())
	}
}

// countRule counts what the limits of a rule did. What the rule did is the most that one of them did.
func (d *Decision) countRule(s span) {
	limits := d.Limits[s.from:s.to]
	charged := d.Allowed
	for i := range limits {
		charged = charged && limits[i].Result.Allowed
	}
	most := allowed
	if !d.Allowed {
		most = spared
	}
	for i := range limits {
		o := limits[i].outcome(charged)
		most = max(most, o)
		record := limits[i].use.zone.record
		record.tally.add(s.rule.counted(o))
		if w := limits[i].Store; w != NotShared {
			record.ways[w].Add(1)
		}
	}
	s.rule.tally.add(s.rule.counted(most))
}

// outcome returns what a limit did, which was charged or not.
func (a *Applied) outcome(charged bool) outcome {
	switch {
	case !a.Result.Allowed && a.Store == Closed:
		return unavailable
	case !a.Result.Allowed:
		return refused
	case !charged:
		return spared
	case a.Result.Delay > 0:
		return delayed
	}
	return allowed
}

// counted returns as what the outcome of a limit of the rule is counted.
func (r *rule) counted(o outcome) outcome {
	switch {
	case r.group != 0 && (o == refused || o == unavailable):
		return wouldRefuse
	case r.group != 0 && o == delayed:
		return wouldDelay
	}
	return o
}

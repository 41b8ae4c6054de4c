package metrics

import "github.com/headgate/headgate/userspace/ruleset"

type httpFamilies struct {
	requests, exempt, rules, rulesSkipped, zones, zonesSkipped, keys, evictions *family
}

func newHTTPFamilies() httpFamilies {
	return httpFamilies{
		requests: counter("http_requests_total",
			"HTTP requests that were decided about."),
		exempt: counter("http_exempt_requests_total",
			"HTTP requests of clients that the http section allows."),
		rules: counter("http_rule_requests_total",
			"HTTP requests by the rule that applied, and what it did. Spared is what another rule refused, unavailable what was refused as Redis did not answer.", "rule", "outcome"),
		rulesSkipped: counter("http_rule_skipped_limits_total",
			"Limits of a rule that were not asked about a request, by why.", "rule", "reason"),
		zones: counter("http_zone_requests_total",
			"HTTP requests by the zone that was asked, and what it did.", "zone", "outcome"),
		zonesSkipped: counter("http_zone_skipped_limits_total",
			"Times a zone was not asked about a request, by why.", "zone", "reason"),
		keys: gauge("http_zone_keys",
			"Keys that a zone remembers.", "zone"),
		evictions: counter("http_zone_evicted_keys_total",
			"Keys that a zone forgot: drained ones without loss, live ones for want of room. Those got a fresh burst.", "zone", "state"),
	}
}

func (f httpFamilies) all() []*family {
	return []*family{f.requests, f.exempt, f.rules, f.rulesSkipped, f.zones, f.zonesSkipped, f.keys, f.evictions}
}

func (f httpFamilies) read(s scrape, c ruleset.Counters) {
	s.count(f.requests, c.Requests)
	s.count(f.exempt, c.Exempt)
	for _, r := range c.Rules {
		outcomes(s, f.rules, f.rulesSkipped, r.Rule, r.Counts)
	}
	for _, z := range c.Zones {
		outcomes(s, f.zones, f.zonesSkipped, z.Zone, z.Counts)
		s.count(f.keys, z.Keyed.Keys, z.Zone)
		s.count(f.evictions, z.Keyed.EvictedDrained, z.Zone, "drained")
		s.count(f.evictions, z.Keyed.EvictedLive, z.Zone, "live")
	}
}

// outcomes adds the counts of a rule or zone.
func outcomes(s scrape, decided, skipped *family, name string, c ruleset.Counts) {
	s.count(decided, c.Allowed, name, "allowed")
	s.count(decided, c.Delayed, name, "delayed")
	s.count(decided, c.Refused, name, "refused")
	s.count(decided, c.WouldDelay, name, "would_delay")
	s.count(decided, c.WouldRefuse, name, "would_refuse")
	s.count(decided, c.Spared, name, "spared")
	s.count(decided, c.Unavailable, name, "unavailable")
	s.count(skipped, c.Absent, name, "absent")
	s.count(skipped, c.Unknown, name, "unknown")
	s.count(skipped, c.Exempt, name, "exempt")
}

package metrics

import "time"

// Store is how Redis is, and what was asked of it, read at one moment.
type Store struct {
	Health string // one of StoreHealths
	// RoundTrip is the mean of the last ones; 0 before the first.
	RoundTrip time.Duration
	InFlight  int // calls

	Calls, RoundTrips uint64
	// Calls that failed: in time, by an answer, for too many, or without being asked.
	Timeouts, Errors, Busy, LeftAlone uint64
	// Opened is how often servers were left alone, Probes how often it was tried whether they answer again.
	Opened, Probes uint64
	Zones          []StoreZone // with store redis, each of them
}

// StoreZone tells how requests to a zone that machines share were decided. Each is in one field.
type StoreZone struct {
	Zone    string
	Redis   uint64 // asked
	Refused uint64 // not asked, as it was known that the key may not pass yet
	Batch   uint64 // not asked, as units were taken in advance
	// Local, Open and Closed are what on_store_failure said, as Redis did not answer.
	Local, Open, Closed uint64
}

// StoreHealths are all values of Store.Health, from the best to the worst.
func StoreHealths() []string { return []string{"up", "partly", "probing", "down"} }

type storeFamilies struct {
	up, health, roundTrip, inFlight, calls, roundTrips, failed, openings, probes, decisions *family
}

func newStoreFamilies() storeFamilies {
	return storeFamilies{
		up: gauge("store_up",
			"1 if Redis is asked about every key, 0 if it is left alone about some or all."),
		health: gauge("store_health",
			"1 for how Redis is, 0 for all else: up, partly (some slots of a cluster are left alone), probing (it is tried whether it answers), down.", "health"),
		roundTrip: gauge("store_round_trip_seconds",
			"Mean of the last round trips to Redis."),
		inFlight: gauge("store_in_flight_calls",
			"Calls that wait for Redis."),
		calls: counter("store_calls_total",
			"Calls to Redis that were begun."),
		roundTrips: counter("store_round_trips_total",
			"Round trips to Redis: calls at the same time share one."),
		failed: counter("store_failed_calls_total",
			"Calls to Redis without a decision, by why: timeout, error (it answered with one), busy (too many wait), left_alone (not sent).", "reason"),
		openings: counter("store_breaker_openings_total",
			"Times Redis, or a part of a cluster, began to be left alone."),
		probes: counter("store_probes_total",
			"Times it was tried whether Redis answers again."),
		decisions: counter("store_decisions_total",
			"Times a zone of Redis was asked, by who decided: redis, refused_locally (known to be over the limit), "+
				"batch (taken in advance), and local, open or closed while Redis does not answer.", "zone", "way"),
	}
}

func (f storeFamilies) all() []*family {
	return []*family{f.up, f.health, f.roundTrip, f.inFlight, f.calls, f.roundTrips, f.failed, f.openings, f.probes, f.decisions}
}

func (f storeFamilies) read(s scrape, v *Store) {
	if v == nil {
		return
	}
	healths := StoreHealths()
	s.flag(f.up, v.Health == healths[0])
	for _, h := range healths {
		s.flag(f.health, v.Health == h, h)
	}
	s.add(f.roundTrip, v.RoundTrip.Seconds())
	s.add(f.inFlight, float64(v.InFlight))
	s.count(f.calls, v.Calls)
	s.count(f.roundTrips, v.RoundTrips)
	s.count(f.failed, v.Timeouts, "timeout")
	s.count(f.failed, v.Errors, "error")
	s.count(f.failed, v.Busy, "busy")
	s.count(f.failed, v.LeftAlone, "left_alone")
	s.count(f.openings, v.Opened)
	s.count(f.probes, v.Probes)
	for _, z := range v.Zones {
		f.readZone(s, z)
	}
}

func (f storeFamilies) readZone(s scrape, z StoreZone) {
	s.count(f.decisions, z.Redis, z.Zone, "redis")
	s.count(f.decisions, z.Refused, z.Zone, "refused_locally")
	s.count(f.decisions, z.Batch, z.Zone, "batch")
	s.count(f.decisions, z.Local, z.Zone, "local")
	s.count(f.decisions, z.Open, z.Zone, "open")
	s.count(f.decisions, z.Closed, z.Zone, "closed")
}

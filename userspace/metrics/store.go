package metrics

import (
	"time"

	"github.com/headgate/headgate/userspace/ruleset"
)

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
	// Calls that were not needed, as the key was known to be over its limit, or as it had units that were taken in
	// advance. Batches is how often such units were taken.
	KnownRefusals, FromBatch, Batches uint64
	Zones                             []StoreZone // with store redis, each of them
}

// StoreZone tells who decided about limits of a zone that machines share.
type StoreZone struct {
	Zone string
	ruleset.SharedCounts
}

// StoreHealths are all values of Store.Health, from the best to the worst.
func StoreHealths() []string { return []string{"up", "partly", "probing", "down"} }

type storeFamilies struct {
	up, health, roundTrip, inFlight, calls, roundTrips, failed, openings, probes, saved, batches, decisions *family
}

func newStoreFamilies() storeFamilies {
	return storeFamilies{
		up: gauge("store_up",
			"1 if Redis is asked about every key by every request, 0 if it is left alone about some or all."),
		health: gauge("store_health",
			"1 for how Redis is, 0 for all else: up, partly (some slots of a cluster are left alone), probing (it answers again, and requests come back bit by bit), down.", "health"),
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
		saved: counter("store_saved_calls_total",
			"Calls to Redis that were not needed, by why: refusal (the key was known to be over its limit), batch (it had units taken in advance).", "reason"),
		batches: counter("store_batches_total",
			"Times units were taken in advance for a key."),
		decisions: counter("store_decisions_total",
			"Limits of a zone that machines share, by who decided: redis, or local, open or closed as it did not answer; "+
				"refused_locally is those that were not asked, as a limit in memory had refused the request.", "zone", "way"),
	}
}

func (f storeFamilies) all() []*family {
	return []*family{
		f.up, f.health, f.roundTrip, f.inFlight, f.calls, f.roundTrips, f.failed, f.openings, f.probes, f.saved, f.batches, f.decisions,
	}
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
	s.count(f.saved, v.KnownRefusals, "refusal")
	s.count(f.saved, v.FromBatch, "batch")
	s.count(f.batches, v.Batches)
	for _, z := range v.Zones {
		f.readZone(s, z)
	}
}

func (f storeFamilies) readZone(s scrape, z StoreZone) {
	s.count(f.decisions, z.Redis, z.Zone, "redis")
	s.count(f.decisions, z.Local, z.Zone, "local")
	s.count(f.decisions, z.Open, z.Zone, "open")
	s.count(f.decisions, z.Closed, z.Zone, "closed")
	s.count(f.decisions, z.RefusedLocally, z.Zone, "refused_locally")
}

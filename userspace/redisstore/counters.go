package redisstore

import "sync/atomic"

// Counters is what a Store counted since New. None goes back.
type Counters struct {
	// Decisions are calls of Take that the store decided, or units taken in advance.
	Decisions uint64
	// RefusedLocally are those that were refused as the store would have refused them, and FromBatch those of Decisions for which
	// units were held: neither cost a round trip.
	RefusedLocally, FromBatch uint64
	// BatchesTaken is how often units were taken in advance.
	BatchesTaken uint64
	// Errors are calls of Take that decided nothing.
	Errors uint64
	// Leases is how many places are occupied by this machine now: the only one that goes down.
	Leases uint64
}

type counters struct{ decisions, refusedLocally, fromBatch, batchesTaken, errors atomic.Uint64 }

// Counters returns what was counted.
func (s *Store) Counters() Counters {
	c := &s.counters
	return Counters{
		Decisions:      c.decisions.Load(),
		RefusedLocally: c.refusedLocally.Load(),
		FromBatch:      c.fromBatch.Load(),
		BatchesTaken:   c.batchesTaken.Load(),
		Errors:         c.errors.Load(),
		Leases:         s.leases.count(),
	}
}

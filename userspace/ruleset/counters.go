package ruleset

import (
	"sync/atomic"

	"github.com/headgate/headgate/userspace/keyed"
)

// Counts tells what became of the requests that a rule applied to, or that a
// zone was asked about. Each request is counted in one field of a rule, and in one of a zone for each
// limit that uses it.
type Counts struct {
	Allowed uint64 // and charged
	Delayed uint64 // allowed, but later
	Refused uint64
	// WouldDelay and WouldRefuse are Delayed and Refused of rules with dry_run.
	WouldDelay, WouldRefuse uint64
	// Absent, Unknown and Exempt are limits that were skipped, see Why; of a rule
	// they are counted beside the others.
	Absent, Unknown, Exempt uint64
	// Spared are requests that this rule or zone had nothing against, and that another refused:
	// they cost nothing here.
	Spared uint64
	// Unavailable are requests that were refused only because the shared store did not answer: a rule says
	// on_store_failure: closed.
	Unavailable uint64
}

// Counters is what a Set counted since it was made, and a Live since the first one was. No number goes back but Keys.
type Counters struct {
	Requests uint64 // all that Decide was called for
	Exempt   uint64 // of clients that the http section allows
	Rules    []RuleCounters
	Zones    []ZoneCounters
}

// RuleCounters are the counts of a rule, in the order of the file.
type RuleCounters struct {
	Rule string
	Counts
}

// ZoneCounters are the counts of a zone, in the order of the file, and what the
// stores of its keys counted.
type ZoneCounters struct {
	Zone string
	Counts
	Keyed keyed.Counters // of a shared zone those of the limiters that stand in for the store
	// Shared tells who decided about limits of a zone that machines share; nil for a zone in memory.
	Shared *SharedCounts
}

// SharedCounts counts, by who decided, the limits of a zone that machines share: a request is counted once for each limit
// that uses the zone.
type SharedCounts struct {
	Redis  uint64 // by the store
	Local  uint64 // by this machine's part, as the store did not answer
	Open   uint64 // let pass, as the store did not answer
	Closed uint64 // refused, as the store did not answer
	// RefusedLocally were not asked, as a limit in memory had refused the request already.
	RefusedLocally uint64
}

// outcome is a field of Counts.
type outcome int

// The first five are what a limit did, in ascending order.
const (
	allowed outcome = iota
	delayed
	spared
	refused
	unavailable
	wouldDelay
	wouldRefuse
	absent
	unknown
	exempt
	outcomes
)

// tally is Counts under way. It fills two cache lines, so that requests of different rules
// do not slow each other down.
type tally struct {
	n [outcomes]atomic.Uint64
	_ [16 - outcomes]uint64
}

func (t *tally) add(o outcome) { t.n[o].Add(1) }

func (t *tally) counts() Counts {
	at := func(o outcome) uint64 { return t.n[o].Load() }
	return Counts{
		Allowed: at(allowed), Delayed: at(delayed), Refused: at(refused),
		WouldDelay: at(wouldDelay), WouldRefuse: at(wouldRefuse),
		Absent: at(absent), Unknown: at(unknown), Exempt: at(exempt),
		Spared: at(spared), Unavailable: at(unavailable),
	}
}

func (w Why) outcome() outcome {
	switch w {
	case Absent:
		return absent
	case Unknown:
		return unknown
	default:
		return exempt
	}
}

// Counters returns what was counted so far. Requests that are decided at the same
// time may be in some of the numbers and not yet in others.
func (s *Set) Counters() Counters {
	c := Counters{Requests: s.life.requests.Load(), Exempt: s.life.exempted.Load()}
	for _, r := range s.rules {
		c.Rules = append(c.Rules, RuleCounters{r.name, r.tally.counts()})
	}
	for _, z := range s.zones {
		c.Zones = append(c.Zones, ZoneCounters{Zone: z.name, Counts: z.record.tally.counts(), Keyed: z.keyed(), Shared: z.shared()})
	}
	return c
}

// shared returns how it was decided about the zone's limits in a store that machines share; nil if there is none.
func (z *zone) shared() *SharedCounts {
	if !z.isShared {
		return nil
	}
	at := func(w Way) uint64 { return z.record.ways[w].Load() }
	return &SharedCounts{Redis: at(Redis), Local: at(Local), Open: at(Open), Closed: at(Closed), RefusedLocally: at(NotAsked)}
}

// keyed returns what the zone's stores counted together.
func (z *zone) keyed() keyed.Counters {
	sum := z.record.past
	for _, s := range z.stores {
		sum = plus(sum, s.Counters())
	}
	return sum
}

func plus(a, b keyed.Counters) keyed.Counters {
	return keyed.Counters{
		Keys:           a.Keys + b.Keys,
		Allowed:        a.Allowed + b.Allowed,
		Refused:        a.Refused + b.Refused,
		EvictedDrained: a.EvictedDrained + b.EvictedDrained,
		EvictedLive:    a.EvictedLive + b.EvictedLive,
	}
}

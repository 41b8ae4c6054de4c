package replay

import (
	"time"

	"github.com/headgate/headgate/userspace/ruleset"
)

// Summary is what became of the requests of a recording.
type Summary struct {
	Lines    Lines
	Requests uint64
	// First and Last are the earliest and the latest time of a request.
	First, Last time.Duration
	// Back is how often a request came before the one above it, and FurthestBack by how much at most before
	// the latest above it. Limits go on from the latest time.
	Back         uint64
	FurthestBack time.Duration

	// Enforced is what rules did, DryRun what those with dry_run would have done.
	Enforced, DryRun Effect
	// Keys are the most frequent keys.
	Keys []Key
	// Counters are those of the rules.
	Counters ruleset.Counters

	// TookUnknown are the requests that were asked about by a limit of requests at a time, and of which the
	// recording does not tell how long they took: they ended at once.
	TookUnknown uint64
	// EndedEarly are those that ended before their time, as there were too many under way.
	EndedEarly uint64
}

// Effect is what rules did to requests.
type Effect struct {
	Refused, Delayed uint64
	// LongestDelay and TotalDelay are of those delayed. The total is at most the largest Duration.
	LongestDelay, TotalDelay time.Duration
	// By tells which limits did: each request is counted for one. Those that refused most are first.
	By []By
	// Clients are those of which requests were refused.
	Clients Clients
}

// By is a limit of a rule, and what it did.
type By struct {
	Rule, Zone       string
	Refused, Delayed uint64
}

// Clients are the clients that were hit.
type Clients struct {
	// Distinct is how many there are; there are more if More.
	Distinct int
	More     bool
	Top      []Client
}

// Client is a client, cut to the prefix that tells clients apart, and its requests that were refused.
type Client struct {
	Client string
	Counted
}

// Key is a key of a zone, and the requests that had it.
type Key struct {
	Zone, Key string
	Counted
	// Over is how many of them the zone had no room for.
	Over uint64
}

// Counted is how many requests were counted: too many by at most TooMany, which is 0 where no
// more keys came than are counted exactly.
type Counted struct {
	Requests, TooMany uint64
}

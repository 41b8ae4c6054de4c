package ruleset

import (
	"sync"
	"sync/atomic"

	"github.com/headgate/headgate/userspace/keyed"
)

// life is what a Set shares with those that take its place.
type life struct {
	pool               sync.Pool // of *Decision
	requests, exempted atomic.Uint64

	// Of all names that there ever were. Only whoever makes a Set looks at them.
	rules map[ruleName]*tally
	zones map[string]*record
}

// ruleName is a name, and how many rules before this one have it too.
type ruleName struct {
	name  string
	times int
}

// record is what was counted of a zone.
type record struct {
	tally tally
	ways  [Closed + 1]atomic.Uint64 // of limits in a store
	past  keyed.Counters            // of stores that the zone has no more
}

func newLife() *life { return &life{rules: map[ruleName]*tally{}, zones: map[string]*record{}} }

func (l *life) rule(name string, times int) *tally {
	key := ruleName{name, times}
	if l.rules[key] == nil {
		l.rules[key] = new(tally)
	}
	return l.rules[key]
}

func (l *life) zone(name string) *record {
	if l.zones[name] == nil {
		l.zones[name] = new(record)
	}
	return l.zones[name]
}

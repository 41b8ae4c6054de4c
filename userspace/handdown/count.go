package handdown

import (
	"slices"
	"sync/atomic"

	"github.com/headgate/headgate/userspace/config"
)

// Counters are what became of all offences since New.
type Counters struct {
	Offences   map[Origin]uint64        // has all origins
	HandedDown map[config.Action]uint64 // rules made, in dry run those that would have been; has Block and Limit
	// Spared are offences of sources that no rule was made for, by why; has all reasons. Those of a source that
	// was looked at count once it was, with those that follow until it is looked at again.
	Spared map[Reason]uint64
	// Late are offences of a source while its rule was made or in force.
	Late uint64
	// Rules are in force, of at most MaxRules. Those of a dry run are among them.
	Rules, MaxRules int
	Lost            uint64 // offences that a source was not looked at for, as too many waited for that
	Evicted         uint64 // sources that were forgotten for want of room
}

// Counters returns what was counted.
func (h *HandDown) Counters() Counters {
	c := h.counts.sum()
	c.Rules = h.force.len(h.now())
	c.MaxRules = h.settings.Load().MaxRules
	c.Evicted = h.offenders.evicted()
	return c
}

const (
	origins = 3
	reasons = 11
	stripes = 8
)

// counts are counters that several CPUs add to, each mostly to another stripe.
type counts struct {
	stripes    [stripes]stripe
	handedDown [2]atomic.Uint64 // block, limit
}

type stripe struct {
	offences   [origins]atomic.Uint64
	spared     [reasons]atomic.Uint64
	late, lost atomic.Uint64
	_          [64]byte
}

// of returns the counters to use for a source.
func (c *counts) of(s source) *stripe { return &c.stripes[(s.high^s.low)%stripes] }

// offence returns the counter of an origin.
func (s *stripe) offence(of Origin) *atomic.Uint64 {
	switch of {
	case HTTP:
		return &s.offences[0]
	case Nginx:
		return &s.offences[1]
	default:
		return &s.offences[2]
	}
}

// spare returns the counter of a reason.
func (s *stripe) spare(why Reason) *atomic.Uint64 { return &s.spared[slices.Index(Reasons(), why)] }

// rule counts a rule that was made.
func (c *counts) rule(a config.Action) {
	if a == config.Block {
		c.handedDown[0].Add(1)
		return
	}
	c.handedDown[1].Add(1)
}

func (c *counts) sum() Counters {
	sum := Counters{
		Offences: make(map[Origin]uint64),
		HandedDown: map[config.Action]uint64{
			config.Block: c.handedDown[0].Load(),
			config.Limit: c.handedDown[1].Load(),
		},
		Spared: make(map[Reason]uint64),
	}
	for i := range c.stripes {
		s := &c.stripes[i]
		for _, o := range Origins() {
			sum.Offences[o] += s.offence(o).Load()
		}
		for _, r := range Reasons() {
			sum.Spared[r] += s.spare(r).Load()
		}
		sum.Late += s.late.Load()
		sum.Lost += s.lost.Load()
	}
	return sum
}

package fleet

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/redisconn"
)

// Status is what is known of the fleet.
type Status struct {
	Here    Member   // this machine, as it knows itself
	Members []Member // as Redis has them, by name
	// Seen is when the fleet was last seen. Error says why not since; empty while it is.
	Seen  time.Time
	Error string
	Store redisconn.State
	Rules int // of the fleet
	// Follows reports whether they are to be in force here.
	Follows bool
	// Spared is how many of them are not in force here, as something protects the prefix.
	Spared int
	// Published, Withheld and Received count rules since New: published by this machine, not published as they were too
	// many, and got from others.
	Published, Withheld, Received uint64
}

// Member is a machine of the fleet.
type Member struct {
	Name    string
	Self    bool // it is this machine
	Version string
	Started time.Time
	Seen    time.Duration // ago, by Redis' clock
	// Store is the health of Redis as the member sees it, and RoundTrip how far it is away.
	Store     redisconn.Health
	RoundTrip time.Duration
	// Behind is how many changes of the rules the member has not got yet.
	Behind uint64
	// Delay is how late the last change came to it.
	Delay time.Duration
}

// Status tells what is known of the fleet. Where Redis does not answer it is what was last seen, and says so.
func (f *Fleet) Status(ctx context.Context) Status {
	h, _, members, err := f.call(ctx, "see")
	f.roll.mu.Lock()
	f.roll.note(h, members, err)
	f.roll.mu.Unlock()
	return f.Known()
}

// Known is Status that asks nobody: what was last seen.
func (f *Fleet) Known() Status {
	f.roll.mu.Lock()
	defer f.roll.mu.Unlock()
	now := time.Now()
	s := Status{
		Here: (&member{id: f.id, says: f.says(), beat: now}).export(f.roll.head, now), Seen: f.roll.seen, Store: f.o.Conn.State(),
		Follows:   f.follows(),
		Published: f.counts.published.Load(), Withheld: f.counts.withheld.Load(), Received: f.counts.received.Load(),
	}
	for _, k := range f.still(now) {
		s.Rules++
		if k.verdict != "" {
			s.Spared++
		}
	}
	if f.roll.err != nil {
		s.Error = f.roll.err.Error()
	}
	s.Here.Self, s.Here.Store, s.Here.RoundTrip = true, s.Store.Health, s.Store.RoundTrip // at one moment
	if s.Here.Store == redisconn.Down {
		s.Here.RoundTrip = 0 // that was before
	}
	for _, m := range f.roll.members {
		view := m.export(f.roll.head, now)
		if m.id == f.id {
			view = s.Here // it may have changed since it was said
		}
		s.Members = append(s.Members, view)
	}
	if len(s.Members) == 0 {
		s.Members = []Member{s.Here}
	}
	slices.SortFunc(s.Members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), a.Started.Compare(b.Started))
	})
	return s
}

// export returns a member as others are told of it: h is which rules there are.
func (m *member) export(h head, now time.Time) Member {
	behind := h.version
	if m.Epoch == h.epoch {
		behind -= min(m.Applied, h.version)
	}
	return Member{
		Name: m.Name, Version: m.Version, Started: m.beat.Add(-ms(m.Age)), Seen: max(now.Sub(m.beat), 0),
		Store: m.Store, RoundTrip: time.Duration(m.RoundTrip) * time.Microsecond, Behind: behind, Delay: ms(m.Delay),
	}
}

// ms returns so many milliseconds, within what others may say.
func ms(n int64) time.Duration {
	return time.Duration(min(max(n, 0), most.Milliseconds())) * time.Millisecond
}

package render

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/redisconn"
)

// Fleet is the machines that share a Redis, how it is, and which limits hold.
type Fleet struct{ admin.Fleet }

// shownAddrs is how many servers people are shown; JSON has them all.
const shownAddrs = 2

// Table writes the machines, what is to be said of Redis and the rules, and the limits.
func (f Fleet) Table(p *Page) {
	if f.Error != "" {
		p.Line("%s: %s", f.notSeen(), f.Error)
		p.Section()
	}
	f.members(p)
	p.Section()
	p.Facts(f.facts()...)
	if len(f.Limits) > 0 {
		p.Section()
		f.limits(p)
	}
}

func (f Fleet) notSeen() string {
	if f.SeenAt == nil {
		return "the fleet was never seen"
	}
	return "as it was last seen at " + moment(*f.SeenAt)
}

func (f Fleet) members(p *Page) {
	var rows [][]string
	for _, m := range f.Members {
		name := m.Name
		if m.Self {
			name += " *"
		}
		rows = append(rows, []string{
			name, m.Version, span(m.SeenSeconds) + " ago", m.Store, trip(m.RoundTripSeconds), count(m.Behind), trip(m.DelaySeconds),
		})
	}
	p.Grid([]Column{
		left("MACHINE"), left("VERSION"), right("SEEN"), left("REDIS"), right("ROUND TRIP"), right("BEHIND"), right("DELAY"),
	}, rows)
}

func (f Fleet) facts() []Fact {
	s, r := f.Store, f.Rules
	facts := []Fact{
		{"redis", s.Mode + " " + addrsText(s.Addrs)},
		{"state", f.state()},
		{"calls", fmt.Sprintf("%d in %s, %d under way", s.Calls, plural(s.RoundTrips, "round trip"), s.InFlight)},
	}
	if failed := failures(s); failed != "" {
		facts = append(facts, Fact{"failed", failed})
	}
	return append(facts,
		Fact{"rules", rulesText(r)},
		Fact{"changes", fmt.Sprintf("%d published, %d withheld, %d received", r.Published, r.Withheld, r.Received)},
	)
}

func rulesText(r admin.FleetRules) string {
	if !r.Followed {
		return fmt.Sprintf("%d of the fleet; this machine follows none", r.Total)
	}
	return fmt.Sprintf("%d of the fleet, %d of them not in force here", r.Total, r.Spared)
}

// state says how Redis is, since when, and what was wrong last.
func (f Fleet) state() string {
	text := f.Store.Health
	if f.Store.Since != nil {
		text += " since " + moment(*f.Store.Since)
	}
	if f.Store.RoundTripSeconds > 0 && f.Store.Health != string(redisconn.Down) {
		text += ", " + trip(f.Store.RoundTripSeconds) + " away"
	}
	if f.Store.Error != "" {
		text += ": " + f.Store.Error
	}
	return text
}

// failures says which calls failed how; empty if none did.
func failures(s admin.FleetStore) string {
	var all []string
	for _, kind := range []struct {
		times uint64
		what  string
	}{
		{s.Timeouts, "not in time"}, {s.Errors, "with an error"}, {s.Busy, "too many at once"}, {s.LeftAlone, "left alone"},
	} {
		if kind.times > 0 {
			all = append(all, fmt.Sprintf("%d %s", kind.times, kind.what))
		}
	}
	return strings.Join(all, ", ")
}

func addrsText(addrs []string) string {
	text := strings.Join(addrs[:min(len(addrs), shownAddrs)], ", ")
	if more := len(addrs) - shownAddrs; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (f Fleet) limits(p *Page) {
	var rows [][]string
	for _, l := range f.Limits {
		limit := l.Rate
		if l.Concurrent > 0 {
			limit = count(l.Concurrent) + " at a time"
		}
		rows = append(rows, []string{l.Zone, limit, orDash(l.Here), orDash(strings.Join(l.OnStoreFailure, ", "))})
	}
	p.Grid([]Column{left("ZONE"), left("ON ALL MACHINES"), left("HERE WITHOUT REDIS"), left("ON FAILURE")}, rows)
}

// trip writes seconds that something is under way, in milliseconds with as many decimals as say something.
func trip(s float64) string {
	ms := s * 1000
	switch {
	case s <= 0:
		return "-"
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 2, 64) + "ms"
	case ms < 1000:
		return strconv.FormatFloat(ms, 'f', 0, 64) + "ms"
	default:
		return Duration(time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond))
	}
}

package render

import (
	"cmp"
	"slices"

	"github.com/headgate/headgate/maps/statmap"
)

// Stats are the counters of an instance.
type Stats struct {
	Interfaces []Interface     `json:"interfaces"`
	Pass       statmap.Counter `json:"pass"` // WouldDrop included
	Drop       statmap.Counter `json:"drop"`
	WouldDrop  statmap.Counter `json:"would_drop"`

	Reasons  ReasonCounts  `json:"reasons"`
	Policies []PolicyStats `json:"policies"`

	TrackedSources   int    `json:"tracked_sources"`
	Capacity         int    `json:"capacity"`
	VerifiedSources  int    `json:"verified_sources"` // proved to be who they say, and count as such now
	SuppressedEvents uint64 `json:"suppressed_events"`
	DryRun           bool   `json:"dry_run"`

	Heat HeatCounts `json:"heat"`
}

// ReasonCounts are the packets decided for each reason, by its name.
type ReasonCounts map[string]uint64

// PolicyStats is what a policy counted.
type PolicyStats struct {
	Name      string          `json:"name"`
	Pass      statmap.Counter `json:"pass"` // WouldDrop included
	Drop      statmap.Counter `json:"drop"`
	WouldDrop statmap.Counter `json:"would_drop"`
}

// Table writes the totals, the reasons that there were, policies, and interfaces.
func (s Stats) Table(p *Page) {
	if s.DryRun {
		p.Line("dry run: nothing is dropped")
		p.Section()
	}
	p.Grid([]Column{left("VERDICT"), right("PACKETS"), right("BYTES")}, [][]string{
		totalRow("pass", s.Pass), totalRow("drop", s.Drop), totalRow("would drop", s.WouldDrop),
	})
	p.Section()
	s.Reasons.text(p)
	p.Section()
	s.policies(p)
	p.Section()
	interfaceGrid(p, s.Interfaces)
	p.Section()
	p.Line("tracked sources: %d of %d", s.TrackedSources, s.Capacity)
	p.Line("verified sources: %d", s.VerifiedSources)
	p.Line("cold packets: %d", s.Heat.ColdPackets)
	p.Line("buckets made: %d, deferred: %d", s.Heat.Inserts, s.Heat.Deferred)
}

func totalRow(name string, c statmap.Counter) []string {
	return []string{name, count(c.Packets), count(c.Bytes)}
}

func (r ReasonCounts) text(p *Page) {
	var rows [][]string
	for _, reason := range r.shown() {
		rows = append(rows, []string{reason, count(r[reason])})
	}
	if len(rows) == 0 {
		p.Line("no packets yet")
		return
	}
	p.Grid([]Column{left("REASON"), right("PACKETS")}, rows)
}

// shown returns the reasons that there were, the most frequent ones first.
func (r ReasonCounts) shown() []string {
	var names []string
	for name, n := range r {
		if n > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(r[b], r[a]), cmp.Compare(a, b))
	})
	return names
}

func (s Stats) policies(p *Page) {
	if len(s.Policies) == 0 {
		p.Line("no policies: everything passes")
		return
	}
	columns := []Column{
		left("POLICY"), right("PASS"), right("DROP"), right("WOULD DROP"), right("PASS BYTES"), right("DROP BYTES"),
	}
	var rows [][]string
	for _, o := range s.Policies {
		rows = append(rows, []string{
			o.Name, count(o.Pass.Packets), count(o.Drop.Packets), count(o.WouldDrop.Packets),
			count(o.Pass.Bytes), count(o.Drop.Bytes),
		})
	}
	p.Grid(columns, rows)
}

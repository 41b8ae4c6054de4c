package render

import (
	"iter"
	"time"

	"github.com/headgate/headgate/userspace/admin"
)

// FleetRules are the rules of a fleet as the machine has them that was asked, by prefix.
type FleetRules struct {
	Rules []admin.KnownRule
	Now   time.Time
}

func (fs FleetRules) elements() iter.Seq[any] { return elementsOf(fs.Rules) }

// Table writes a grid.
func (fs FleetRules) Table(p *Page) {
	if len(fs.Rules) == 0 {
		p.Line("no rules of the fleet are known here")
		return
	}
	rows := make([][]string, 0, len(fs.Rules))
	for _, r := range fs.Rules {
		rows = append(rows, []string{
			short(r.Prefix), r.Action, fleetLimit(r), fs.expiry(r.Expires), publisher(r), orDash(r.Reason), here(r),
		})
	}
	p.Grid([]Column{
		left("PREFIX"), left("ACTION"), left("LIMIT"), right("EXPIRES"), left("BY"), left("REASON"), left("HERE"),
	}, rows)
}

func fleetLimit(r admin.KnownRule) string {
	switch {
	case r.Rate != "" && r.Bandwidth != "":
		return r.Rate + ", " + r.Bandwidth
	default:
		return orDash(r.Rate + r.Bandwidth)
	}
}

func (fs FleetRules) expiry(end *time.Time) string {
	if end == nil {
		return "never"
	}
	return "in " + Duration(max(end.Sub(fs.Now), 0).Round(time.Second))
}

// publisher says who published a rule: a hand-down of a machine, or who asked it to.
func publisher(r admin.KnownRule) string {
	if r.By != "" && !r.Person {
		return r.By + " (handdown)"
	}
	return orDash(r.By)
}

func here(r admin.KnownRule) string {
	if r.InForce {
		return "in force"
	}
	return orDash(r.Spared)
}

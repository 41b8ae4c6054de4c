package render

import (
	"fmt"
	"iter"
	"net/netip"
	"strconv"

	"github.com/headgate/headgate/userspace/admin"
)

// Offenders are sources that were refused again and again, the nearest to being handed down first.
type Offenders []admin.Offender

func (os Offenders) elements() iter.Seq[any] { return elementsOf(os) }

// Table writes a grid.
func (os Offenders) Table(p *Page) {
	if len(os) == 0 {
		p.Line("no offenders")
		return
	}
	var rows [][]string
	for _, o := range os {
		rows = append(rows, []string{
			short(o.Source), strconv.Itoa(o.Offences), strconv.Itoa(o.Strikes), orDash(o.Origin), ruleOf(o), soon(o.ExpiresSeconds),
		})
	}
	p.Grid([]Column{
		left("SOURCE"), right("OFFENCES"), right("HANDED DOWN"), left("SEEN BY"), left("RULE"), right("ENDS IN"),
	}, rows)
}

// ruleOf says what rule an offender has, or why it has none.
func ruleOf(o admin.Offender) string {
	if o.Action == "" && o.Spared != "" {
		return "spared: " + o.Spared
	}
	return orDash(o.Action)
}

// Reports are what became of reports, in their order.
type Reports []admin.Outcome

func (rs Reports) elements() iter.Seq[any] { return elementsOf(rs) }

// Table writes a line for each.
func (rs Reports) Table(p *Page) {
	for _, r := range rs {
		p.Line("%s: %s", short(r.Prefix), reportText(r))
	}
}

func reportText(o admin.Outcome) string {
	switch o.Outcome {
	case "spared":
		return "spared: " + o.Reason
	case "handed_down":
		text := "handed down to the kernel for " + span(o.ForSeconds)
		if o.DryRun {
			text = "would be " + text + " (dry run)"
		}
		return text
	default:
		return fmt.Sprintf("counted: %d of %d offences within %s", o.Offences, o.After, span(o.WithinSeconds))
	}
}

// short writes a prefix of one address as that address.
func short(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

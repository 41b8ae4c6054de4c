package render

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/headgate/headgate/userspace/admin"
)

// Zones are an agent's zones of HTTP requests, with what they did.
type Zones []admin.Zone

func (zs Zones) elements() iter.Seq[any] { return elementsOf(zs) }

// Table writes a grid.
func (zs Zones) Table(p *Page) {
	if len(zs) == 0 {
		p.Line("no zones: the agent limits no HTTP requests")
		return
	}
	var rows [][]string
	for _, z := range zs {
		rows = append(rows, []string{
			z.Name, strings.Join(z.Key, " "), ZoneLimit(z), z.Algorithm, strconv.FormatInt(z.Keys, 10),
			count(z.Allowed), count(z.Delayed), count(z.Refused), count(z.WouldDelay + z.WouldRefuse),
		})
	}
	p.Grid([]Column{
		left("ZONE"), left("KEY"), left("LIMIT"), left("ALGORITHM"), right("KEYS"),
		right("ALLOWED"), right("DELAYED"), right("REFUSED"), right("DRY RUN"),
	}, rows)
	for _, z := range zs {
		if z.Changed {
			p.Section()
			p.Line("* until the next reload")
			return
		}
	}
}

// ZoneLimit returns a zone's limit in words; one that is not as configured has a star.
func ZoneLimit(z admin.Zone) string {
	text := z.Rate
	if z.Concurrent > 0 {
		text = count(z.Concurrent) + " at a time"
	}
	if z.Changed {
		text += " *"
	}
	return text
}

// KeyStates are the states of keys of a zone.
type KeyStates []admin.KeyState

func (ks KeyStates) elements() iter.Seq[any] { return elementsOf(ks) }

// Table writes a grid.
func (ks KeyStates) Table(p *Page) {
	if len(ks) == 0 {
		p.Line("no keys: nobody owes anything")
		return
	}
	var rows [][]string
	for _, k := range ks {
		rows = append(rows, []string{
			k.Key, orDash(k.Rule), orDash(k.Rate), fmt.Sprintf("%d of %d", k.Remaining, k.Limit), plainNumber(k.Owes),
			soon(k.RetryAfterSeconds), soon(k.ResetSeconds),
		})
	}
	p.Grid([]Column{
		left("KEY"), left("RULE"), right("RATE"), right("WOULD PASS NOW"), right("OWES"), right("NEXT IN"), right("AS NEW IN"),
	}, rows)
}

// soon writes how many seconds there are to wait.
func soon(s float64) string {
	if s == 0 {
		return "-"
	}
	return span(s)
}

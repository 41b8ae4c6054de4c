package render

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
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
			z.Name, strings.Join(z.Key, " "), ZoneLimit(z), z.Algorithm, zoneKeys(z),
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

// zoneKeys says how many keys this machine remembers, or that Redis has them.
func zoneKeys(z admin.Zone) string {
	if z.Store == config.StoreRedis {
		return "in redis"
	}
	return strconv.FormatInt(z.Keys, 10)
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
	if slices.ContainsFunc(ks, func(k admin.KeyState) bool { return k.Store == string(config.FailLocal) }) {
		p.Section()
		p.Line("Redis does not answer: this is what this machine counts by itself meanwhile, by its part of the limit")
	}
}

// soon writes how many seconds there are to wait.
func soon(s float64) string {
	if s == 0 {
		return "-"
	}
	return span(s)
}

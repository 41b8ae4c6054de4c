package render

import (
	"iter"
	"time"

	"github.com/headgate/headgate/maps/statmap"
)

// TopSource is what one policy counted of one source.
type TopSource struct {
	Source    string          `json:"source"` // an address, or a prefix where sources are cut to one
	Policy    string          `json:"policy"`
	Pass      statmap.Counter `json:"pass"` // WouldDrop included
	Drop      statmap.Counter `json:"drop"`
	WouldDrop statmap.Counter `json:"would_drop"`
	Rates     *Rates          `json:"rates,omitempty"` // where two samples were taken
}

// Rates are averages between two samples.
type Rates struct {
	PassPackets float64 `json:"pass_packets_per_second"`
	PassBits    float64 `json:"pass_bits_per_second"`
	DropPackets float64 `json:"drop_packets_per_second"`
}

// Top are sources, the most noteworthy first.
type Top []TopSource

func (t Top) elements() iter.Seq[any] { return elementsOf(t) }

// Table writes a grid, with rates where there are any.
func (t Top) Table(p *Page) {
	if len(t) == 0 {
		p.Line("no sources yet")
		return
	}
	rated := t[0].Rates != nil
	columns := []Column{left("SOURCE"), left("POLICY")}
	if rated {
		columns = append(columns, right("PASS/s"), right("PASS RATE"), right("DROP/s"))
	}
	columns = append(columns, right("PASSED"), right("DROPPED"), right("WOULD DROP"))
	rows := make([][]string, 0, len(t))
	for _, s := range t {
		row := []string{s.Source, orDash(s.Policy)}
		if rated {
			row = append(row, s.Rates.cells()...)
		}
		rows = append(rows, append(row, count(s.Pass.Packets), count(s.Drop.Packets), count(s.WouldDrop.Packets)))
	}
	p.Grid(columns, rows)
}

func (r *Rates) cells() []string {
	if r == nil {
		return []string{"-", "-", "-"}
	}
	return []string{perSecond(r.PassPackets), bitRate(r.PassBits), perSecond(r.DropPackets)}
}

// TopScreen is one picture of the live display, which has no form in JSON.
type TopScreen struct {
	Time     time.Time
	Interval time.Duration // between pictures
	Tracked  int           // sources with a bucket
	Capacity int
	Total    *Rates // of all packets; nil in the first picture
	DryRun   bool
	Sources  Top
}

// Table writes what concerns all sources, and the grid.
func (s TopScreen) Table(p *Page) {
	dry := ""
	if s.DryRun {
		dry = "   dry run: nothing is dropped"
	}
	p.Line("headgate top   %s   every %s   q to quit%s", s.Time.Format(time.TimeOnly), duration(s.Interval), dry)
	total := s.Total.cells()
	p.Line("pass %s/s (%s)   drop %s/s   sources %d of %d", total[0], total[1], total[2], s.Tracked, s.Capacity)
	p.Section()
	s.Sources.Table(p)
}

// TopScreenLines is how many lines of a TopScreen are not sources.
const TopScreenLines = 4

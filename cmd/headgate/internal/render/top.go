package render

import (
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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
	PassPackets      float64 `json:"pass_packets_per_second"` // WouldDropPackets included
	PassBits         float64 `json:"pass_bits_per_second"`
	DropPackets      float64 `json:"drop_packets_per_second"`
	WouldDropPackets float64 `json:"would_drop_packets_per_second"`
}

// Top are sources, the most noteworthy first.
type Top []TopSource

func (t Top) elements() iter.Seq[any] { return elementsOf(t) }

// Table writes a grid, with rates where there are any.
func (t Top) Table(p *Page) { t.grid(p, 0) }

// grid writes the columns that a width has room for, all of them where it is 0.
func (t Top) grid(p *Page, width int) {
	if len(t) == 0 {
		p.Line("no sources yet")
		return
	}
	columns := topColumns(t[0].Rates != nil, t.dry())
	if width > 0 {
		columns = t.fitting(columns, width)
	}
	heading := make([]Column, len(columns))
	for i, c := range columns {
		heading[i] = c.Column
	}
	rows := make([][]string, len(t))
	for n, s := range t {
		for _, c := range columns {
			rows[n] = append(rows[n], c.cell(s))
		}
	}
	p.Grid(heading, rows)
}

// dry says whether anything would be dropped.
func (t Top) dry() bool {
	return slices.ContainsFunc(t, func(s TopSource) bool { return s.WouldDrop.Packets > 0 })
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
	Width    int // of the terminal; 0 for any
}

// Table writes what concerns all sources, and the grid. What the width has no room for is left out
// whole: a number that is cut would be another one.
func (s TopScreen) Table(p *Page) {
	title := []string{"headgate top", s.Time.Format(time.TimeOnly), "every " + Duration(s.Interval), "q to quit"}
	if s.DryRun {
		title = slices.Insert(title, 1, "dry run: nothing is dropped")
	}
	p.Line("%s", s.line(title))
	p.Line("%s", s.line(s.totals()))
	p.Section()
	s.Sources.grid(p, s.Width)
}

func (s TopScreen) totals() []string {
	passPackets, passBits, drop, wouldDrop := s.Total.cells()
	totals := []string{"pass " + passPackets + "/s (" + passBits + ")", "drop " + drop + "/s"}
	if s.DryRun || s.Sources.dry() {
		totals = append(totals, "would drop "+wouldDrop+"/s")
	}
	return append(totals, "sources "+count(uint64(s.Tracked))+" of "+count(uint64(s.Capacity)))
}

// line joins the first parts, as many as the width has room for.
func (s TopScreen) line(parts []string) string {
	const between = "   "
	for n := len(parts); n > 0; n-- {
		line := strings.Join(parts[:n], between)
		if s.Width == 0 || utf8.RuneCountInString(line) <= s.Width {
			return line
		}
	}
	return ""
}

func (r *Rates) cells() (passPackets, passBits, drop, wouldDrop string) {
	if r == nil {
		return "-", "-", "-", "-"
	}
	return perSecond(r.PassPackets), bitRate(r.PassBits), perSecond(r.DropPackets), perSecond(r.WouldDropPackets)
}

// TopScreenLines is how many lines of a TopScreen are not sources.
const TopScreenLines = 4

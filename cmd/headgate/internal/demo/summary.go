package demo

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
)

// Range is how many packets theory lets through.
type Range struct {
	Least uint64 `json:"least"`
	Most  uint64 `json:"most"`
}

func (r Range) contains(n uint64) bool { return r.Least <= n && n <= r.Most }

func (r Range) String() string {
	if r.Least == r.Most {
		return count(r.Least)
	}
	return fmt.Sprintf("%d to %d", r.Least, r.Most)
}

// Counted is what headgate counted, in packets.
type Counted struct {
	Pass uint64 `json:"pass"`
	Drop uint64 `json:"drop"`
}

// since returns what was counted after before.
func (c Counted) since(before Counted) Counted {
	return Counted{Pass: c.Pass - before.Pass, Drop: c.Drop - before.Drop}
}

// Check is what became of one source's packets in one phase.
type Check struct {
	Phase    string   `json:"phase"`
	Source   string   `json:"source"`
	Sent     uint64   `json:"sent"`
	Through  uint64   `json:"through"` // at the raw socket behind the limiter
	Lost     uint64   `json:"lost"`
	Theory   Range    `json:"theory"` // of what gets through
	Why      string   `json:"why"`
	Headgate *Counted `json:"headgate,omitempty"` // where it was attached
	OK       bool     `json:"ok"`
}

// judge says whether all parties agree.
func (c *Check) judge() {
	c.OK = c.Theory.contains(c.Through) && agrees(c.Headgate, c.Through, c.Lost)
}

// agrees says whether headgate counted what the socket behind it did.
func agrees(h *Counted, through, lost uint64) bool {
	return h == nil || *h == Counted{Pass: through, Drop: lost}
}

// Totals are all sources together, for as long as headgate was attached.
type Totals struct {
	Sent     uint64  `json:"sent"`
	Through  uint64  `json:"through"`
	Lost     uint64  `json:"lost"`
	Headgate Counted `json:"headgate"`
	OK       bool    `json:"ok"`
}

// Summary is the result of a demo.
type Summary struct {
	Mode    string        `json:"mode"` // in which it was attached
	Took    time.Duration `json:"-"`
	Seconds float64       `json:"seconds"`
	Checks  []Check       `json:"checks"`
	Totals  Totals        `json:"totals"`
	OK      bool          `json:"ok"`
}

// conclude adds up and judges.
func (s *Summary) conclude(took time.Duration, counted Counted) {
	s.Took, s.Seconds = took, took.Seconds()
	s.Totals = Totals{Headgate: counted}
	for _, c := range s.Checks {
		if c.Headgate != nil {
			s.Totals.Sent += c.Sent
			s.Totals.Through += c.Through
			s.Totals.Lost += c.Lost
		}
	}
	s.Totals.OK = agrees(&counted, s.Totals.Through, s.Totals.Lost)
	s.OK = s.Off() == 0
}

// Off returns how many lines of the summary are not what they should be.
func (s *Summary) Off() int {
	off := 0
	if !s.Totals.OK {
		off = 1
	}
	for _, c := range s.Checks {
		if !c.OK {
			off++
		}
	}
	return off
}

// Table writes a line for each check.
func (s Summary) Table(p *render.Page) {
	p.Line("THROUGH is what the socket counted, PASSED and DROPPED what headgate counted. What a source has")
	p.Line("at once at the start of a phase is what it saved up while the counters were read: at most a burst.")
	p.Section()
	columns := []render.Column{
		{Name: " "}, {Name: "PHASE"}, {Name: "SOURCE"},
		{Name: "SENT", Right: true}, {Name: "THROUGH", Right: true}, {Name: "THEORY", Right: true},
		{Name: "PASSED", Right: true}, {Name: "DROPPED", Right: true}, {Name: "WHY"},
	}
	var rows [][]string
	for n, c := range s.Checks {
		row := c.cells()
		if n > 0 && s.Checks[n-1].Phase == c.Phase {
			row[1] = ""
		}
		rows = append(rows, row)
	}
	p.Grid(columns, slices.Concat(rows, [][]string{s.Totals.cells()}))
	p.Section()
	p.Line("%s", s.verdict())
}

func (c Check) cells() []string {
	return append([]string{mark(c.OK), c.Phase, c.Source, count(c.Sent), count(c.Through), c.Theory.String()},
		append(c.Headgate.cells(), c.Why)...)
}

func (t Totals) cells() []string {
	return append([]string{mark(t.OK), "attached", "all", count(t.Sent), count(t.Through), "-"},
		append(t.Headgate.cells(), "each packet is counted once")...)
}

func (c *Counted) cells() []string {
	if c == nil {
		return []string{"-", "-"}
	}
	return []string{count(c.Pass), count(c.Drop)}
}

func (s Summary) verdict() string {
	lines := len(s.Checks) + 1
	if off := s.Off(); off > 0 {
		return fmt.Sprintf("%s %d of %d lines are not what they should be", mark(false), off, lines)
	}
	return fmt.Sprintf("%s all %d lines are what theory says, and headgate counted what the far end did, to the packet (%s mode, %.1f s)",
		mark(true), lines, s.Mode, s.Seconds)
}

func mark(ok bool) string {
	if ok {
		return "✓"
	}
	return "✗"
}

func count(n uint64) string { return strconv.FormatUint(n, 10) }

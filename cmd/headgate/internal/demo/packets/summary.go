package packets

import (
	"slices"
	"strconv"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/stage"
	"github.com/headgate/headgate/cmd/headgate/internal/demo/theory"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
)

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
	Phase    string       `json:"phase"`
	Source   string       `json:"source"`
	Sent     uint64       `json:"sent"`
	Through  uint64       `json:"through"` // at the raw socket behind the limiter
	Lost     uint64       `json:"lost"`
	Theory   theory.Range `json:"theory"` // of what gets through
	Why      string       `json:"why"`
	Headgate *Counted     `json:"headgate,omitempty"` // where it was attached
	OK       bool         `json:"ok"`
}

// judge says whether all parties agree.
func (c *Check) judge() {
	c.OK = c.Theory.Contains(c.Through) && agrees(c.Headgate, c.Through, c.Lost)
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

// Summary is the result of the act.
type Summary struct {
	Mode   string  `json:"mode"` // in which it was attached
	Checks []Check `json:"checks"`
	Totals Totals  `json:"totals"`
}

// conclude adds up and judges.
func (s *Summary) conclude(counted Counted) {
	s.Totals = Totals{Headgate: counted}
	for _, c := range s.Checks {
		if c.Headgate != nil {
			s.Totals.Sent += c.Sent
			s.Totals.Through += c.Through
			s.Totals.Lost += c.Lost
		}
	}
	s.Totals.OK = agrees(&counted, s.Totals.Through, s.Totals.Lost)
}

// Lines returns how many lines of the summary there are to check.
func (s Summary) Lines() int { return len(s.Checks) + 1 }

// Off returns how many of them are not what they should be.
func (s Summary) Off() int {
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
}

func (c Check) cells() []string {
	return append([]string{stage.Mark(c.OK), c.Phase, c.Source, count(c.Sent), count(c.Through), c.Theory.String()},
		append(c.Headgate.cells(), c.Why)...)
}

func (t Totals) cells() []string {
	return append([]string{stage.Mark(t.OK), "attached", "all", count(t.Sent), count(t.Through), "-"},
		append(t.Headgate.cells(), "each packet is counted once")...)
}

func (c *Counted) cells() []string {
	if c == nil {
		return []string{"-", "-"}
	}
	return []string{count(c.Pass), count(c.Drop)}
}

func count(n uint64) string { return strconv.FormatUint(n, 10) }

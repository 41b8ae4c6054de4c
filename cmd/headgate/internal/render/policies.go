package render

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Policy is one policy.
type Policy struct {
	Name  string `json:"name"`
	Match Match  `json:"match"`
	Key   string `json:"key"` // source or shared
	Limit
	Action   string `json:"action"` // drop or dry-run
	ID       uint16 `json:"id"`
	Overflow string `json:"overflow"` // estimate, pass or drop
}

// Match says which packets a policy counts: those that are all that is given. Without anything it
// is every IP packet.
type Match struct {
	Protocol string `json:"protocol,omitempty"`
	Ports    string `json:"ports,omitempty"` // destination: 53 or 1000-2000
	SYN      bool   `json:"syn,omitempty"`   // opens a TCP connection
	// Unverified leaves out sources that are verified.
	Unverified bool `json:"unverified,omitempty"`
}

// String words the match: "udp port 53", "unverified", "all".
func (m Match) String() string {
	s := m.Protocol
	if m.SYN {
		s = "tcp syn"
	}
	if m.Ports != "" {
		if s != "" {
			s += " "
		}
		s += "port " + m.Ports
	}
	if m.Unverified {
		s = strings.TrimSpace("unverified " + s)
	}
	return cmp.Or(s, "all")
}

// Policies are the policies in the order in which they are asked.
type Policies []Policy

func (ps Policies) elements() iter.Seq[any] { return elementsOf(ps) }

// Table writes a grid, with the overflow where it is not by estimates everywhere.
func (ps Policies) Table(p *Page) {
	if len(ps) == 0 {
		p.Line("no policies: everything passes")
		return
	}
	columns := append([]Column{left("NAME"), left("MATCH"), left("KEY")}, limitColumns()...)
	columns = append(columns, left("ACTION"), right("ID"))
	overflow := slices.ContainsFunc(ps, func(p Policy) bool { return p.Overflow != "estimate" })
	if overflow {
		columns = append(columns, left("OVERFLOW"))
	}
	var rows [][]string
	for _, policy := range ps {
		row := append([]string{policy.Name, policy.Match.String(), policy.Key}, policy.cells()...)
		row = append(row, policy.Action, strconv.Itoa(int(policy.ID)))
		if overflow {
			row = append(row, policy.Overflow)
		}
		rows = append(rows, row)
	}
	p.Grid(columns, rows)
}

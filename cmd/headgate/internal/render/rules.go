package render

import (
	"iter"
	"time"
)

// Rule is one thing that is said of a prefix.
type Rule struct {
	Prefix string `json:"prefix"`
	Action string `json:"action"` // allow, block or limit
	Limit
	Policy    string     `json:"policy,omitempty"` // of limit rules: whose limit it takes the place of
	Expires   *time.Time `json:"expires"`          // UTC; null for never
	ExpiresIn int64      `json:"expires_in_seconds,omitempty"`
	Origin    string     `json:"origin"` // cli, config, handdown or fleet
}

// Rules are rules, by prefix.
type Rules []Rule

func (rs Rules) elements() iter.Seq[any] { return elementsOf(rs) }

// Table writes a grid.
func (rs Rules) Table(p *Page) {
	if len(rs) == 0 {
		p.Line("no rules")
		return
	}
	columns := append([]Column{left("PREFIX"), left("ACTION")}, limitColumns()...)
	columns = append(columns, left("POLICY"), right("EXPIRES"), left("ORIGIN"))
	rows := make([][]string, 0, len(rs))
	for _, r := range rs {
		row := append([]string{r.Prefix, r.Action}, r.cells()...)
		rows = append(rows, append(row, orDash(r.Policy), r.expiry(), r.Origin))
	}
	p.Grid(columns, rows)
}

func (r Rule) expiry() string {
	if r.Expires == nil {
		return "never"
	}
	return "in " + Duration(time.Duration(r.ExpiresIn)*time.Second)
}

// Decision is the rule that decides about an address or prefix, if any does.
type Decision struct {
	Target string
	Rule   *Rule
}

func (d Decision) elements() iter.Seq[any] { return d.rules().elements() }

func (d Decision) rules() Rules {
	if d.Rule == nil {
		return nil
	}
	return Rules{*d.Rule}
}

// Table writes the rule.
func (d Decision) Table(p *Page) {
	if d.Rule == nil {
		p.Line("no rule applies to %s: the policies decide", d.Target)
		return
	}
	d.rules().Table(p)
}

package render

import (
	"fmt"
	"strings"
)

// Check is what a configuration file says.
type Check struct {
	File     string    `json:"file"`
	Valid    bool      `json:"valid"`
	Errors   []Problem `json:"errors"`
	Warnings []Problem `json:"warnings"`
	// InForce is nil if the file is not valid.
	InForce *InForce `json:"in_force,omitempty"`
}

// Problem is something in a file that is wrong or doubtful. Line and column are 0 if it is about all of the file,
// or of the line.
type Problem struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Path   string `json:"path"` // of the field
	Text   string `json:"text"`

	// Words is all of it in a line, as for people.
	Words string `json:"-"`
}

// InForce is a file in words: its http section, and the others.
type InForce struct {
	Sections  []SectionInForce `json:"sections"`
	Client    string           `json:"client"`
	Allow     []string         `json:"allow"`
	Headers   string           `json:"headers"`
	Zones     []ZoneInForce    `json:"zones"`
	Rules     []RuleInForce    `json:"rules"`
	Processes int              `json:"processes"`
}

// Table writes the problems, or what is in force.
func (c Check) Table(p *Page) {
	for _, problem := range c.Errors {
		p.Line("%s", problem.Words)
	}
	for _, problem := range c.Warnings {
		p.Line("warning: %s", problem.Words)
	}
	if c.InForce != nil {
		p.Section()
		c.InForce.table(p)
	}
}

func (f *InForce) table(p *Page) {
	for _, s := range f.Sections {
		s.table(p)
		p.Section()
	}
	if len(f.Sections) > 0 {
		p.Line("http")
	}
	if len(f.Rules) == 0 {
		p.Line("no HTTP limits: every request passes")
		return
	}
	facts := []Fact{{"client", f.Client}}
	if len(f.Allow) > 0 {
		facts = append(facts, Fact{"never limited", strings.Join(f.Allow, ", ")})
	}
	p.Facts(append(facts, Fact{"headers", f.Headers})...)
	f.zones(p)
	f.rules(p)
	p.Section()
	p.Line("A request is charged to all limits that it is asked about or to none: what one refuses costs nothing in")
	p.Line("the others. A limit is skipped for a request that lacks a part of its key.")
	if alone, shared := f.counted(); f.Processes <= 1 && alone {
		what := "Each process counts for itself"
		if shared {
			what = "What is not in redis each process counts for itself"
		}
		p.Line("%s: behind N of them a client may have N times as much (--processes).", what)
	}
}

// counted reports whether there are limits that each process counts alone, and such that machines share.
func (f *InForce) counted() (alone, shared bool) {
	for _, r := range f.Rules {
		for _, l := range r.Limits {
			alone, shared = alone || l.Shared == nil, shared || l.Shared != nil
		}
	}
	return alone, shared
}

func (f *InForce) zones(p *Page) {
	p.Section()
	var rows [][]string
	for _, z := range f.Zones {
		rows = append(rows, z.cells())
	}
	p.Grid([]Column{
		left("ZONE"), left("KEY"), left("LIMIT"), left("ALGORITHM"), left("IP CUT TO"),
		right("MAX KEYS"), right("OVERRIDES"), right("ALLOWED"), left("USED"),
	}, rows)
}

func (f *InForce) rules(p *Page) {
	p.Section()
	p.Line("The rules are looked at from the top, and the first that matches decides. Its limits are asked in this order:")
	for i, r := range f.Rules {
		p.Section()
		p.Line("%s: %s", r.title(i+1), r.Match)
		for _, l := range r.Limits {
			p.Line("   - %s: %s", l.Zone, l)
			switch {
			case l.Shared != nil:
				p.Line("     %s", l.Shared)
			case f.Processes > 1:
				p.Line("     %s", l.Together(f.Processes))
			}
			l.overrides(p)
		}
		p.Line("   %s", r.end())
	}
}

// Failed says how many things are wrong.
func (c Check) Failed() error {
	if c.Valid {
		return nil
	}
	return fmt.Errorf("%s: %s", c.File, plural(len(c.Errors), "error"))
}

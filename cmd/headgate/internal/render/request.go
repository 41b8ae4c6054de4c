package render

import (
	"fmt"
	"strings"
)

// ExplainedRequest is what rules make of a request.
type ExplainedRequest struct {
	Client     string `json:"client"`
	ClientFrom string `json:"client_from"`
	// Exempt says that no rule is asked about the client.
	Exempt  bool             `json:"exempt"`
	Rules   []ExplainedRule  `json:"rules"`
	Limits  []ExplainedLimit `json:"limits"` // in the order in which they are asked
	Skipped []SkippedLimit   `json:"skipped"`
	Instant AtOnce           `json:"at_one_instant"`
}

// ExplainedRule is a rule, and whether it matches.
type ExplainedRule struct {
	RuleInForce
	Matches bool `json:"matches"`
}

// ExplainedLimit is a limit that is asked.
type ExplainedLimit struct {
	Rule     string       `json:"rule"`
	DryRun   bool         `json:"dry_run"`
	Key      string       `json:"key"`      // that the request has
	Override bool         `json:"override"` // the key has a limit of its own
	Limit    LimitInForce `json:"limit"`
}

// SkippedLimit is a limit that is not asked.
type SkippedLimit struct {
	Rule string `json:"rule"`
	Zone string `json:"zone"`
	Why  string `json:"why"` // absent, unknown or exempt
}

// AtOnce is what becomes of many such requests at one instant, the first of all.
type AtOnce struct {
	Passed uint64 `json:"passed"`
	// Delayed and Refused are the first of these, DryRun the first that a rule with dry_run would hold up. nil if
	// there is none among so many.
	Delayed *DelayedAtOnce `json:"first_delayed"`
	Refused *RefusedAtOnce `json:"first_refused"`
	DryRun  *DelayedAtOnce `json:"first_in_dry_run"`
}

// DelayedAtOnce is a request that a limit delays.
type DelayedAtOnce struct {
	Number uint64       `json:"number"` // from 1
	Rule   string       `json:"rule"`
	Zone   string       `json:"zone"`
	Delay  Milliseconds `json:"delay_ms,omitempty"`
}

// RefusedAtOnce is a request that a limit refuses.
type RefusedAtOnce struct {
	Number uint64 `json:"number"`
	Rule   string `json:"rule"`
	Zone   string `json:"zone"`
	Status int    `json:"status"`
	// RetryAfter is null if no waiting helps, and if WhenOneEnds: a request under way has to end first.
	RetryAfter  *Milliseconds `json:"retry_after_ms"`
	WhenOneEnds bool          `json:"when_one_ends"`
}

// Table writes it in words.
func (r ExplainedRequest) Table(p *Page) {
	p.Facts(Fact{"client", fmt.Sprintf("%s (%s)", r.Client, r.ClientFrom)})
	if r.Exempt {
		p.Section()
		p.Line("The client is allowed: no rule is asked, and every request passes.")
		return
	}
	r.rules(p)
	r.limits(p)
	p.Section()
	r.Instant.table(p, len(r.Limits) > 0)
}

func (r ExplainedRequest) rules(p *Page) {
	if len(r.Rules) == 0 {
		return
	}
	p.Section()
	decided := false
	var rows [][]string
	for i, rule := range r.Rules {
		what := "does not match"
		switch {
		case rule.Matches && decided:
			what = "matches, and is not looked at: a rule above decides"
		case rule.Matches && rule.Continue:
			what = "matches; the rules below are looked at too"
		case rule.Matches && len(rule.Limits) == 0:
			what = "matches, and has no limit"
		case rule.Matches:
			what = "matches"
		}
		decided = decided || rule.Matches && !rule.Continue
		rows = append(rows, []string{rule.title(i + 1), rule.Match, what})
	}
	p.Grid([]Column{left("RULE"), left("FOR"), left("THIS REQUEST")}, rows)
}

func (r ExplainedRequest) limits(p *Page) {
	if len(r.Limits)+len(r.Skipped) > 0 {
		p.Section()
	}
	for i, l := range r.Limits {
		p.Line("%d. %s, zone %s%s", i+1, l.Rule, l.Limit.Zone, l.remarks())
		p.Line("   key %s", l.Key)
		p.Line("   %s", l.Limit)
		if l.Limit.Shared != nil {
			p.Line("   %s", l.Limit.Shared)
		}
	}
	for _, s := range r.Skipped {
		p.Line("-  %s, zone %s: not asked, %s", s.Rule, s.Zone, s.words())
	}
}

func (l ExplainedLimit) remarks() string {
	var remarks []string
	if l.DryRun {
		remarks = append(remarks, "dry run")
	}
	if l.Override {
		remarks = append(remarks, "by an override")
	}
	if len(remarks) == 0 {
		return ""
	}
	return " (" + strings.Join(remarks, ", ") + ")"
}

func (s SkippedLimit) words() string {
	switch s.Why {
	case "absent":
		return "as the request lacks a part of the key"
	case "unknown":
		return "as the client is not known"
	}
	return "as the zone allows the key"
}

func (a AtOnce) table(p *Page, limited bool) {
	if !limited {
		p.Line("No limit is asked: every such request passes.")
		return
	}
	p.Line("Of such requests at one instant, the first of this client:")
	if d := a.DryRun; d != nil {
		p.Line("  the %s is the first that %s (zone %s) would hold up, but for its dry run", ordinal(d.Number), d.Rule, d.Zone)
	}
	if d := a.Delayed; d != nil {
		p.Line("  the %s is the first that waits, %s, by zone %s of %s", ordinal(d.Number), d.Delay, d.Zone, d.Rule)
	}
	if a.Refused == nil {
		p.Line("  %s pass, and perhaps more", requests(a.Passed))
		return
	}
	r := a.Refused
	p.Line("  the %s is refused with %d by zone %s of %s, %s", ordinal(r.Number), r.Status, r.Zone, r.Rule, r.again())
}

// again says when the request would pass.
func (r *RefusedAtOnce) again() string {
	switch {
	case r.WhenOneEnds:
		return "and would pass when one of them has ended"
	case r.RetryAfter == nil:
		return "and no waiting helps"
	}
	return "and would pass after " + r.RetryAfter.String()
}

package render

import (
	"fmt"
	"strconv"
	"time"
)

// ReplaySummary is what rules would have done to recorded requests.
type ReplaySummary struct {
	Requests  uint64 `json:"requests"`
	Lines     uint64 `json:"lines"`
	NoRequest uint64 `json:"lines_without_request"`

	Unreadable      uint64    `json:"unreadable_lines"`
	FirstUnreadable []BadLine `json:"first_unreadable"`
	Interrupted     bool      `json:"interrupted"`

	// Times are in milliseconds of the recording's clock.
	First   Milliseconds `json:"first_ms"`
	Last    Milliseconds `json:"last_ms"`
	Span    Milliseconds `json:"span_ms"`
	FirstAt *time.Time   `json:"first,omitempty"` // UTC, of a log
	LastAt  *time.Time   `json:"last,omitempty"`

	// Exempt are requests of clients that no rule is asked about.
	Exempt   uint64          `json:"exempt"`
	Enforced ReplayEffect    `json:"enforced"`
	DryRun   ReplayEffect    `json:"dry_run"`
	Keys     []ReplayKey     `json:"top_keys"`
	Skipped  []SkippedOfRule `json:"skipped"`
	Notes    []string        `json:"notes"`
}

// BadLine is a line that could not be read.
type BadLine struct {
	Line   uint64 `json:"line"`
	Reason string `json:"reason"`
}

// ReplayEffect is what rules did, or would have done.
type ReplayEffect struct {
	Refused      uint64       `json:"refused"`
	RefusedShare float64      `json:"refused_share"` // of all requests, 0 to 1
	Delayed      uint64       `json:"delayed"`
	DelayedShare float64      `json:"delayed_share"`
	LongestDelay Milliseconds `json:"longest_delay_ms"`
	TotalDelay   Milliseconds `json:"total_delay_ms"`

	By []ReplayBy `json:"by"`

	Clients     int            `json:"clients"` // of which requests were refused
	MoreClients bool           `json:"more_clients"`
	TopClients  []ReplayClient `json:"top_clients"`
}

// ReplayBy is a limit of a rule and what it did.
type ReplayBy struct {
	Rule    string `json:"rule"`
	Zone    string `json:"zone"`
	Refused uint64 `json:"refused"`
	Delayed uint64 `json:"delayed"`
}

// ReplayClient is a client and its refused requests.
type ReplayClient struct {
	Client  string `json:"client"`
	Refused uint64 `json:"refused"`
	TooMany uint64 `json:"too_many_by"` // at most
}

// ReplayKey is a key of a zone and its requests.
type ReplayKey struct {
	Zone     string `json:"zone"`
	Key      string `json:"key"`
	Requests uint64 `json:"requests"`
	TooMany  uint64 `json:"too_many_by"` // at most
	Over     uint64 `json:"over_limit"`
}

// SkippedOfRule tells how many limits of a rule were not asked.
type SkippedOfRule struct {
	Rule    string `json:"rule"`
	Absent  uint64 `json:"absent"`  // the request lacks the key
	Unknown uint64 `json:"unknown"` // the client is not known
	Exempt  uint64 `json:"exempt"`  // the zone's allow list has the key
}

// Milliseconds is a time that JSON has in milliseconds, exactly.
type Milliseconds time.Duration

// MarshalJSON implements json.Marshaler.
func (m Milliseconds) MarshalJSON() ([]byte, error) {
	return appendMilliseconds(nil, time.Duration(m)), nil
}

// String returns the time in words.
func (m Milliseconds) String() string { return seconds(time.Duration(m).Seconds()) }

// Table writes what there is to say.
func (s ReplaySummary) Table(p *Page) {
	facts := []Fact{
		{"requests", count(s.Requests) + s.span()},
		{"refused", s.Enforced.refusals(s.Requests)},
		{"delayed", s.Enforced.delays(s.Requests)},
	}
	if s.DryRun.any() {
		facts = append(facts,
			Fact{"dry run", "would refuse " + s.DryRun.refusals(s.Requests)},
			Fact{"", "would delay " + s.DryRun.delays(s.Requests)})
	}
	p.Facts(append(facts, s.rest()...)...)
	s.Enforced.table(p, "")
	s.DryRun.table(p, "WOULD BE ")
	s.keys(p)
	s.skipped(p)
	if len(s.Notes) > 0 {
		p.Section()
	}
	for _, note := range s.Notes {
		p.Line("%s", note)
	}
}

// span words the time that the requests are of.
func (s ReplaySummary) span() string {
	switch {
	case s.Requests == 0:
		return ""
	case s.FirstAt != nil:
		return fmt.Sprintf(" in %s, from %s to %s", s.Span, s.FirstAt.Format(time.RFC3339), s.LastAt.Format(time.RFC3339))
	}
	return fmt.Sprintf(" in %s", s.Span)
}

// rest are facts that are told only where there are some.
func (s ReplaySummary) rest() []Fact {
	var facts []Fact
	if s.Exempt > 0 {
		facts = append(facts, Fact{"exempt", plural(s.Exempt, "request") + " of clients that are allowed"})
	}
	if s.NoRequest > 0 {
		facts = append(facts, Fact{"left out", plural(s.NoRequest, "line") + " of what was no request"})
	}
	if s.Unreadable > 0 {
		facts = append(facts, Fact{"unreadable", fmt.Sprintf("%d of %s", s.Unreadable, plural(s.Lines, "line"))})
	}
	for _, bad := range s.FirstUnreadable {
		facts = append(facts, Fact{"", fmt.Sprintf("line %d: %s", bad.Line, bad.Reason)})
	}
	if s.Interrupted {
		facts = append(facts, Fact{"interrupted", "the rest was not replayed"})
	}
	return facts
}

func (f ReplayEffect) any() bool { return f.Refused+f.Delayed > 0 }

func (f ReplayEffect) refusals(of uint64) string {
	if f.Refused == 0 {
		return "none"
	}
	clients := fmt.Sprintf(", of %s", plural(f.Clients, "client"))
	if f.MoreClients {
		clients = fmt.Sprintf(", of more than %d clients", f.Clients)
	}
	return share(f.Refused, of) + clients
}

func (f ReplayEffect) delays(of uint64) string {
	if f.Delayed == 0 {
		return "none"
	}
	mean := Milliseconds(time.Duration(f.TotalDelay) / time.Duration(f.Delayed))
	return fmt.Sprintf("%s, for up to %s, %s on average", share(f.Delayed, of), f.LongestDelay, mean)
}

// share writes a part of requests, and how much of all that is.
func share(n, of uint64) string {
	percent := 100 * float64(n) / float64(max(of, 1))
	text := strconv.FormatFloat(percent, 'f', 2, 64)
	switch {
	case n > 0 && percent < 0.01:
		text = "less than 0.01"
	case n < of && percent > 99.99:
		text = "more than 99.99"
	}
	return fmt.Sprintf("%d (%s %%)", n, text)
}

// table adds which limits did it, and to whom.
func (f ReplayEffect) table(p *Page, would string) {
	if !f.any() {
		return
	}
	p.Section()
	var rows [][]string
	for _, by := range f.By {
		rows = append(rows, []string{by.Rule, by.Zone, count(by.Refused), count(by.Delayed)})
	}
	p.Grid([]Column{left("RULE"), left("ZONE"), right(would + "REFUSED"), right(would + "DELAYED")}, rows)
	if len(f.TopClients) == 0 {
		return
	}
	p.Section()
	rows = nil
	for _, c := range f.TopClients {
		rows = append(rows, []string{c.Client, counted(c.Refused, c.TooMany)})
	}
	p.Grid([]Column{left("CLIENT"), right(would + "REFUSED")}, rows)
}

// counted writes a count that may be too high.
func counted(n, tooMany uint64) string {
	if tooMany == 0 {
		return count(n)
	}
	return fmt.Sprintf("%d to %d", n-tooMany, n)
}

func (s ReplaySummary) keys(p *Page) {
	if len(s.Keys) == 0 {
		return
	}
	p.Section()
	var rows [][]string
	for _, k := range s.Keys {
		rows = append(rows, []string{k.Zone, k.Key, counted(k.Requests, k.TooMany), counted(k.Over+k.TooMany, k.TooMany)})
	}
	p.Grid([]Column{left("ZONE"), left("KEY"), right("REQUESTS"), right("OVER LIMIT")}, rows)
}

func (s ReplaySummary) skipped(p *Page) {
	if len(s.Skipped) == 0 {
		return
	}
	p.Section()
	var rows [][]string
	for _, r := range s.Skipped {
		rows = append(rows, []string{r.Rule, count(r.Absent), count(r.Unknown), count(r.Exempt)})
	}
	p.Grid([]Column{left("LIMITS NOT ASKED, OF"), right("KEY ABSENT"), right("CLIENT UNKNOWN"), right("ALLOWED BY ZONE")}, rows)
}

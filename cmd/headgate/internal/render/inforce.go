package render

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/headgate/headgate/userspace/rate"
)

// LimitInForce is a zone as a rule uses it: what requests of one key may do.
type LimitInForce struct {
	Zone      string `json:"zone"`
	Key       string `json:"key"` // "ip and path"; empty for one that all requests share
	Algorithm string `json:"algorithm"`
	Rate      string `json:"rate,omitempty"`
	Burst     uint64 `json:"burst"`
	Delay     uint64 `json:"delay"`
	Cost      uint64 `json:"cost"`
	// AtOnce is how many requests pass at one instant, or may be under way at a time; Prompt is how many of
	// them do not wait.
	AtOnce uint64 `json:"at_once"`
	Prompt uint64 `json:"at_once_without_delay"`
	// Interval is the time between two requests in the long run, Window that of a window.
	Interval Milliseconds `json:"interval_ms,omitempty"`
	Window   Milliseconds `json:"window_ms,omitempty"`
	// Shared is nil for a limit of each process alone.
	Shared *SharedLimit `json:"shared,omitempty"`
	// Overrides are not in JSON: the zone has them.
	Overrides []OverriddenLimit `json:"-"`
}

// SharedLimit is what is said of a limit that all machines have together, in Redis.
type SharedLimit struct {
	Limit     string `json:"limit"` // "60r/m", "10 at a time"
	OnFailure string `json:"on_store_failure"`
	Status    int    `json:"status"` // of what is refused because Redis does not answer
	// Lease is how many requests of a key each machine may let pass beyond it for a moment.
	Lease uint64 `json:"lease,omitempty"`
}

// String says who admits how much.
func (s SharedLimit) String() string {
	text := s.Limit + " over all machines"
	if s.Lease > 0 {
		text += fmt.Sprintf(" and up to %d more for each, as leases", s.Lease)
	}
	text += "; while Redis does not answer, "
	switch s.OnFailure {
	case "open":
		return text + "all pass"
	case "closed":
		return text + fmt.Sprintf("all are refused with %d", s.Status)
	}
	return text + "each admits " + s.Limit + " divided by the number of machines"
}

// OverriddenLimit is what the limit is for a value of the key with a rate of its own.
type OverriddenLimit struct {
	Value string
	Limit LimitInForce
}

// MarshalJSON adds the words to the fields.
func (l LimitInForce) MarshalJSON() ([]byte, error) {
	type fields LimitInForce
	return json.Marshal(struct {
		fields
		Text string `json:"text"`
	}{fields(l), l.String()})
}

// String says what the limit means.
func (l LimitInForce) String() string {
	of := "of one " + l.Key
	if l.Key == "" {
		of = "of all together"
	}
	n := requests(l.AtOnce)
	switch {
	case l.Algorithm == "concurrent":
		return fmt.Sprintf("%s %s under way at a time; each holds its place until its response has ended", n, of)
	case l.Algorithm == "window":
		return fmt.Sprintf("%s %s in %s, which begins with the first; twice as many may come within an instant, at the end of one such time and the start of the next", n, of, l.Window)
	case l.Algorithm == "sliding":
		return fmt.Sprintf("%s %s in any %s, as estimated from two counters; all of them at one instant if there was silence", n, of, l.Window)
	case l.AtOnce == 1:
		return fmt.Sprintf("1 request %s each %s%s", of, l.Interval, l.waits())
	}
	return fmt.Sprintf("at one instant %s %s, then one each %s%s", n, of, l.Interval, l.waits())
}

// waits says from which request on they wait.
func (l LimitInForce) waits() string {
	switch {
	case l.Prompt >= l.AtOnce && l.AtOnce == 1:
		return "; what comes earlier is refused"
	case l.Prompt >= l.AtOnce:
		return ""
	case l.Prompt == 0:
		return "; they wait for their turn"
	}
	return fmt.Sprintf("; from the %s on they wait for their turn", ordinal(l.Prompt+1))
}

// Together says what several processes, each with this limit, admit.
func (l LimitInForce) Together(processes int) string {
	n := uint64(processes)
	switch l.Algorithm {
	case "concurrent":
		return fmt.Sprintf("%d processes together: %s at a time", n, requests(l.AtOnce*n))
	case "window", "sliding":
		return fmt.Sprintf("%d processes together: %s in %s", n, requests(l.AtOnce*n), l.Window)
	}
	return fmt.Sprintf("%d processes together: at one instant %s, then one each %s", n, requests(l.AtOnce*n), l.Interval/Milliseconds(n))
}

// overridesShown is how many overrides are told of a limit.
const overridesShown = 5

// overrides adds the first overrides, those next to each other that mean the same in one line.
func (l LimitInForce) overrides(p *Page) {
	all := l.Overrides[:min(len(l.Overrides), overridesShown)]
	for i, o := range all {
		values := o.Value
		if i > 0 && all[i-1].Limit.briefly() == o.Limit.briefly() {
			continue // it is in the line above
		}
		for _, next := range all[i+1:] {
			if next.Limit.briefly() != o.Limit.briefly() {
				break
			}
			values += ", " + next.Value
		}
		p.Line("     %s: %s", values, o.Limit.briefly())
	}
	if more := len(l.Overrides) - len(all); more > 0 {
		p.Line("     and %d more", more)
	}
}

// briefly says what the rate of an override means; all else is as in the limit.
func (l LimitInForce) briefly() string {
	switch l.Algorithm {
	case "concurrent":
		return requests(l.AtOnce) + " under way at a time"
	case "window":
		return fmt.Sprintf("%s in %s", requests(l.AtOnce), l.Window)
	case "sliding":
		return fmt.Sprintf("%s in any %s", requests(l.AtOnce), l.Window)
	}
	return "one each " + l.Interval.String()
}

func requests(n uint64) string {
	if n >= countedWhole {
		return rate.FormatCount(n) + " requests"
	}
	return plural(n, "request")
}

func ordinal(n uint64) string {
	ending := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			ending = "st"
		case 2:
			ending = "nd"
		case 3:
			ending = "rd"
		}
	}
	return strconv.FormatUint(n, 10) + ending
}

// RuleInForce is a rule of the http section.
type RuleInForce struct {
	Name     string         `json:"name"`
	Match    string         `json:"match"`
	Limits   []LimitInForce `json:"limits"`
	Status   int            `json:"status"`
	DryRun   bool           `json:"dry_run"`
	Continue bool           `json:"continue"`
}

// title names the rule, which is the n-th.
func (r RuleInForce) title(n int) string {
	if r.Name == fmt.Sprintf("rule %d", n) {
		return r.Name
	}
	return fmt.Sprintf("rule %d, %s", n, r.Name)
}

// end says what becomes of those who exceed the limits, and what follows.
func (r RuleInForce) end() string {
	var parts []string
	switch {
	case len(r.Limits) == 0:
		parts = append(parts, "no limit")
	case r.DryRun:
		parts = append(parts, "dry run: beyond that they are counted, and pass")
	default:
		parts = append(parts, fmt.Sprintf("beyond that they are refused with %d", r.Status))
	}
	if r.Continue {
		parts = append(parts, "the rules below are looked at too")
	}
	return strings.Join(parts, "; ")
}

// ZoneInForce is a zone of the http section.
type ZoneInForce struct {
	Name       string   `json:"name"`
	Key        []string `json:"key"`
	Limit      string   `json:"limit"` // "10r/s", "10 at a time"
	Algorithm  string   `json:"algorithm"`
	Store      string   `json:"store,omitempty"` // "redis"; empty for the memory of each process
	MaxKeys    int      `json:"max_keys,omitempty"`
	IPv4Prefix int      `json:"ipv4_prefix,omitempty"`
	IPv6Prefix int      `json:"ipv6_prefix,omitempty"`
	Allow      int      `json:"allow"`
	Used       bool     `json:"used"`

	Overrides []OverrideInForce `json:"overrides"`
}

// OverrideInForce is a value of a zone's key with a limit of its own: a rate, or how many requests at a time.
type OverrideInForce struct {
	Value      string `json:"value"` // of a key of several parts with ", " between them
	Rate       string `json:"rate,omitempty"`
	Concurrent uint64 `json:"concurrent,omitempty"`
}

func (z ZoneInForce) cells() []string {
	keys := "-"
	if z.MaxKeys > 0 {
		keys = rate.FormatCount(uint64(z.MaxKeys))
	}
	prefixes := "-"
	if z.IPv4Prefix > 0 {
		prefixes = fmt.Sprintf("/%d, /%d", z.IPv4Prefix, z.IPv6Prefix)
	}
	algorithm := z.Algorithm
	if z.Store != "" {
		algorithm += ", in " + z.Store
	}
	return []string{
		z.Name, strings.Join(z.Key, ", "), z.Limit, algorithm, prefixes, keys,
		strconv.Itoa(len(z.Overrides)), strconv.Itoa(z.Allow), yesNo(z.Used),
	}
}

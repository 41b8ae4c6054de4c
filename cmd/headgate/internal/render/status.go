package render

import (
	"fmt"
	"strconv"
	"time"
)

// Status says what an instance is.
type Status struct {
	Version    string `json:"version"`
	Build      string `json:"build"`    // of the program in this headgate, see Version
	Outdated   bool   `json:"outdated"` // the instance runs another program
	Kernel     string `json:"kernel"`
	Pin        string `json:"pin"` // the instance's directory
	DryRun     bool   `json:"dry_run"`
	IPv4Prefix int    `json:"ipv4_prefix"`
	IPv6Prefix int    `json:"ipv6_prefix"`
	Overflow   string `json:"overflow"` // of the default policy: estimate, pass or drop

	Policies       int `json:"policies"`
	Rules          int `json:"rules"`
	TrackedSources int `json:"tracked_sources"`
	Capacity       int `json:"capacity"`
	// VerifiedSources proved to be who they say, and count as such now.
	VerifiedSources int `json:"verified_sources"`

	Heat       Heat        `json:"heat"`
	Interfaces []Interface `json:"interfaces"`
	Memory     Memory      `json:"memory"`
	Try        *Try        `json:"try"` // null but while `attach --try` waits for an answer
	// Agent is nil where none answers.
	Agent *RunningAgent `json:"agent,omitempty"`
}

// RunningAgent is the agent that answers where one does by default.
type RunningAgent struct {
	Version string  `json:"version"`
	PID     int     `json:"pid"`
	Uptime  float64 `json:"uptime_seconds"`
}

// Memory is what the kernel charges for an instance's maps.
type Memory struct {
	Bytes uint64      `json:"bytes"`
	Maps  []MapMemory `json:"maps"`
}

// MapMemory is what it charges for one map.
type MapMemory struct {
	Name       string `json:"name"`
	MaxEntries int    `json:"max_entries"`
	Bytes      uint64 `json:"bytes"`
}

// Try says when what was tried goes back to how it was.
type Try struct {
	Until   time.Time `json:"until"` // UTC
	Seconds int64     `json:"seconds_left"`
}

// Table writes facts, interfaces and memory.
func (s Status) Table(p *Page) {
	p.Facts(s.facts()...)
	p.Section()
	interfaceGrid(p, s.Interfaces)
	p.Section()
	s.Memory.text(p)
}

func (s Status) facts() []Fact {
	build := s.Build
	if s.Outdated {
		build += "; the instance runs another program, `headgate attach` upgrades it"
	}
	facts := []Fact{
		{"version", s.Version},
		{"program", build},
		{"kernel", s.Kernel},
		{"instance", s.Pin},
		{"dry run", s.dryRun()},
		{"sources", fmt.Sprintf("IPv4 /%d, IPv6 /%d", s.IPv4Prefix, s.IPv6Prefix)},
		{"tracked", fmt.Sprintf("%d of %d", s.TrackedSources, s.Capacity)},
		{"verified", strconv.Itoa(s.VerifiedSources)},
		{"overflow", s.overflow()},
		{"policies", strconv.Itoa(s.Policies)},
		{"rules", strconv.Itoa(s.Rules)},
	}
	facts = append(facts, s.Heat.facts()...)
	if a := s.Agent; a != nil {
		facts = append(facts, Fact{"agent", fmt.Sprintf("%s, process %d, up %s", a.Version, a.PID, span(a.Uptime))})
	}
	if s.Try != nil {
		left := Duration(time.Duration(s.Try.Seconds) * time.Second)
		facts = append(facts, Fact{"try", "goes back to how it was in " + left + " unless confirmed"})
	}
	return facts
}

func (s Status) dryRun() string {
	if s.DryRun {
		return "yes: nothing is dropped"
	}
	return "no"
}

func (s Status) overflow() string {
	switch s.Overflow {
	case "estimate":
		return "estimate: sources that find no room are limited by their heat cells"
	case "pass":
		return "pass: packets of sources near their limit that find no room pass"
	case "drop":
		return "drop: packets of sources near their limit that find no room are dropped"
	default:
		return s.Overflow
	}
}

func (m Memory) text(p *Page) {
	columns := []Column{left("MAP"), right("ENTRIES"), right("MEMORY")}
	var rows [][]string
	for _, one := range m.Maps {
		rows = append(rows, []string{one.Name, strconv.Itoa(one.MaxEntries), memory(one.Bytes)})
	}
	p.Grid(columns, append(rows, []string{"total", "", memory(m.Bytes)}))
}

package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/headgate/headgate/userspace/event"
)

// AgentEvents writes what an agent tells as it comes: lines under one heading, or a JSON object on each line. An
// object of a packet has all fields of Event, so that its readers need not know who tells it, and kind beside.
type AgentEvents struct {
	w      io.Writer
	format Format
}

// NewAgentEvents returns a writer of an agent's events.
func NewAgentEvents(w io.Writer, f Format) *AgentEvents { return &AgentEvents{w: w, format: f} }

// agentEventLine has widths for what is common.
const agentEventLine = "%-15s  %-9s  %-28s  %s\n"

// Begin writes the heading, if there is one.
func (a *AgentEvents) Begin() error {
	if a.format == JSON {
		return nil
	}
	_, err := fmt.Fprintf(a.w, agentEventLine, "TIME", "KIND", "SOURCE", "WHAT")
	return err
}

// packetOfAgent is a packet as `headgate events` has it, and that it is one.
type packetOfAgent struct {
	Event
	Kind event.Kind `json:"kind"`
	Lost uint64     `json:"lost,omitempty"`
}

// Write writes one event.
func (a *AgentEvents) Write(e event.Event) error {
	if a.format != JSON {
		_, err := fmt.Fprintf(a.w, agentEventLine, e.Time.Format("15:04:05.000000"), e.Kind, eventSource(e), cell(eventText(e)))
		return err
	}
	e.Time = e.Time.UTC()
	var v any = e
	if e.Packet != nil {
		v = packetOfAgent{packetEvent(e), e.Kind, e.Lost}
	}
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = a.w.Write(append(line, '\n'))
	return err
}

// packetEvent returns an event of a packet as one that was read from the kernel.
func packetEvent(e event.Event) Event {
	p := e.Packet
	return Event{
		Time: e.Time, Source: p.Source, SourcePort: p.SourcePort, DestPort: p.DestPort, Protocol: p.Protocol,
		Length: p.Length, Verdict: p.Verdict, Reason: e.Reason, Policy: p.Policy, Interface: e.Name,
		Suppressed: max(e.Count, 1) - 1,
	}
}

func eventSource(e event.Event) string {
	switch {
	case e.Packet != nil:
		return packetEvent(e).source()
	case e.Source.IsValid():
		return short(e.Source)
	default:
		return "-"
	}
}

// eventText says what happened.
func eventText(e event.Event) string {
	var words []string
	add := func(given bool, format string, args ...any) {
		if given {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(e.Name != "", "%s", e.Name)
	if p := e.Packet; p != nil {
		add(true, "%s", strings.TrimSpace(p.Verdict+" "+p.Protocol))
		add(p.DestPort > 0, "to port %d", p.DestPort)
		add(p.Length > 0, "%d bytes", p.Length)
		add(p.Policy != "", "policy %s", p.Policy)
	}
	add(e.Rule != "", "%s", e.Rule)
	add(e.Zone != "", "zone %s", e.Zone)
	add(e.Members > 0, "%s", plural(e.Members, "member"))
	add(e.Factor > 0, "rates times %s", plainNumber(e.Factor))
	add(e.For > 0, "for %s", Duration(time.Duration(e.For*float64(time.Second))))
	add(e.Reason != "", "%s", e.Reason)
	add(e.Origin != "", "from %s", e.Origin)
	add(e.Count > 1, "%d of these", e.Count)
	add(e.Lost > 0, "%s before it lost", plural(e.Lost, "event"))
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ", ")
}

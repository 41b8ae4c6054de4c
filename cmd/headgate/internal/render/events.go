package render

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"time"
)

// Event is one packet that was dropped, or would have been in dry run.
type Event struct {
	Time       time.Time  `json:"time"`        // UTC in JSON
	Source     netip.Addr `json:"source"`      // "" of a malformed packet
	SourcePort uint16     `json:"source_port"` // 0 where the packet has none
	DestPort   uint16     `json:"destination_port"`
	Protocol   string     `json:"protocol"`
	Length     uint32     `json:"length"` // of the IP packet
	Verdict    string     `json:"verdict"`
	Reason     string     `json:"reason"`
	Policy     string     `json:"policy,omitempty"` // where one decided
	Interface  string     `json:"interface"`
	Suppressed uint64     `json:"suppressed"` // drops of the same CPU without an event since its last one
}

// Events writes events as they come: lines under one heading, or a JSON object on each line
// (JSON Lines). Each is written at once.
type Events struct {
	w      io.Writer
	format Format
}

// NewEvents returns a writer of events.
func NewEvents(w io.Writer, f Format) *Events { return &Events{w: w, format: f} }

// eventLine has widths for what is common: an IPv6 address with its port may be longer.
const eventLine = "%-15s  %-28s  %7s  %-6s  %6s  %-10s  %-17s  %-12s  %-10s  %10s\n"

// Begin writes the heading, if there is one.
func (e *Events) Begin() error {
	if e.format == JSON {
		return nil
	}
	_, err := fmt.Fprintf(e.w, eventLine, "TIME", "SOURCE", "TO PORT", "PROTO", "LENGTH",
		"VERDICT", "REASON", "POLICY", "INTERFACE", "SUPPRESSED")
	return err
}

// Write writes one event.
func (e *Events) Write(event Event) error {
	if e.format == JSON {
		event.Time = event.Time.UTC()
		line, err := json.Marshal(event)
		if err != nil {
			return err
		}
		_, err = e.w.Write(append(line, '\n'))
		return err
	}
	_, err := fmt.Fprintf(e.w, eventLine, event.Time.Format("15:04:05.000000"), event.source(),
		port(event.DestPort), orDash(event.Protocol), count(uint64(event.Length)), event.Verdict,
		event.Reason, orDash(event.Policy), event.Interface, count(event.Suppressed))
	return err
}

func (e Event) source() string {
	switch {
	case !e.Source.IsValid():
		return "-"
	case e.SourcePort == 0:
		return e.Source.String()
	default:
		return netip.AddrPortFrom(e.Source, e.SourcePort).String()
	}
}

func port(p uint16) string {
	if p == 0 {
		return "-"
	}
	return strconv.Itoa(int(p))
}

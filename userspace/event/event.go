// Package event tells whoever listens what the agent does and sees: requests refused, sources
// handed down to the kernel, packets dropped, rates changed, files read again, what the fleet says.
//
// Telling never waits. A listener that is too slow loses events, and is told how many.
package event

import (
	"net/netip"
	"time"
)

// Kind is what happened.
type Kind string

// The kinds.
const (
	Refused    Kind = "refused"  // an HTTP request; sampled
	Dropped    Kind = "dropped"  // packets by the kernel; sampled
	HandedDown Kind = "handdown" // a source was given a kernel rule
	Spared     Kind = "spared"   // an offender was not, see Reason
	Adapted    Kind = "adapted"  // the factor on the rates changed
	Reloaded   Kind = "reloaded" // the configuration was read again
	Attached   Kind = "attached" // an interface, again
	Detached   Kind = "detached" // from an interface, not by the agent; the limiter removed, where it has no name
	Upstream   Kind = "upstream" // a server went or came back
	Draining   Kind = "draining" // the agent ends

	StoreDown     Kind = "storedown" // requests do not ask Redis any more, see Reason
	StoreUp       Kind = "storeup"   // they do again
	FleetRule     Kind = "fleetrule" // a rule of the fleet came into force here
	FleetUnset    Kind = "withdrawn" // one that was in force was taken back by somebody
	FleetSpared   Kind = "excepted"  // or it did not, as something protects its prefix here, see Reason
	FleetWithheld Kind = "withheld"  // rules were not published, as they were too many
	FleetResized  Kind = "resized"   // the fleet has another number of members
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{
		Refused, Dropped, HandedDown, Spared, Adapted, Reloaded, Attached, Detached, Upstream, Draining,
		StoreDown, StoreUp, FleetRule, FleetUnset, FleetSpared, FleetWithheld, FleetResized,
	}
}

// Roughly rounds a time to what people want to read of it: to milliseconds below a second, and to seconds above.
func Roughly(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}

// Event is one thing that happened. Fields that do not concern its kind are zero.
type Event struct {
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`
	// Source is who it is about.
	Source netip.Prefix `json:"source,omitzero"`
	// Origin is who found it: http, nginx, report, kernel, config, fleet.
	Origin string `json:"origin,omitempty"`
	// Rule and Zone are those of an HTTP decision, or Rule the action of a kernel rule and Zone the kernel's policy.
	Rule string `json:"rule,omitempty"`
	Zone string `json:"zone,omitempty"`
	// Reason is why, in words.
	Reason string `json:"reason,omitempty"`
	// For is how long a kernel rule holds, in seconds.
	For float64 `json:"for_seconds,omitempty"`
	// Count is how many of the kind this event stands for; 0 is 1.
	Count uint64 `json:"count,omitempty"`
	// Factor on the rates, of Adapted.
	Factor float64 `json:"factor,omitempty"`
	// Members is how many machines the fleet has now, of FleetResized.
	Members int `json:"members,omitempty"`
	// Name of an interface, of a server, or of the member of the fleet that published a rule, or took it back.
	Name string `json:"name,omitempty"`
	// Packet is the one of Dropped that was told of; nil where it is not known.
	Packet *Packet `json:"packet,omitempty"`
	// Lost is how many events before this one the listener did not get.
	Lost uint64 `json:"lost,omitempty"`
}

// Packet is a packet that was dropped, or would have been in dry run.
type Packet struct {
	Source     netip.Addr `json:"source,omitzero"` // uncut; invalid if the packet is malformed
	SourcePort uint16     `json:"source_port"`     // 0 where it has none, as DestPort
	DestPort   uint16     `json:"destination_port"`
	Protocol   string     `json:"protocol"`
	Length     uint32     `json:"length"`  // of the IP packet, in bytes
	Verdict    string     `json:"verdict"` // drop or would_drop
	Policy     string     `json:"policy,omitempty"`
}

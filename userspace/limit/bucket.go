package limit

import "fmt"

// Limit is what a policy allows each source in packets, in bytes or in both.
// The zero value limits nothing.
type Limit struct {
	Packets, Bytes Params
}

// Bucket is the state of one source under one policy. The zero value is an idle
// source. A Bucket has no lock: callers that share one must serialise Take and
// Adopt.
type Bucket struct {
	Packets, Bytes State
}

// Refusal says which part of a Limit a packet exceeds.
type Refusal uint8

// The refusals. A packet that exceeds both parts is OverPackets.
const (
	None Refusal = iota
	OverPackets
	OverBytes
)

// String returns none, over-packets or over-bytes.
func (r Refusal) String() string {
	switch r {
	case None:
		return "none"
	case OverPackets:
		return "over-packets"
	case OverBytes:
		return "over-bytes"
	default:
		return fmt.Sprintf("refusal %d", uint8(r))
	}
}

// IsZero reports whether l limits nothing.
func (l Limit) IsZero() bool { return l.Packets.IsZero() && l.Bytes.IsZero() }

// Fits returns None if one packet of length bytes may pass at time now (ns),
// else which part of the limit it exceeds, packets before bytes.
func (l Limit) Fits(b Bucket, length, now uint64) Refusal {
	return l.Take(&b, length, now)
}

// Take is Fits, and charges the packet to both parts of b if it may pass.
// Otherwise neither part changes.
func (l Limit) Take(b *Bucket, length, now uint64) Refusal {
	packets, ok := l.Packets.charge(b.Packets, 1, now)
	if !ok {
		return OverPackets
	}
	bytes, ok := l.Bytes.charge(b.Bytes, length, now)
	if !ok {
		return OverBytes
	}
	*b = Bucket{Packets: packets, Bytes: bytes}
	return None
}

// Adopt carries b over to l after a change of the limit at time now (ns), as
// Params.Adopt does.
func (l Limit) Adopt(b *Bucket, now uint64) {
	l.Packets.Adopt(&b.Packets, now)
	l.Bytes.Adopt(&b.Bytes, now)
}

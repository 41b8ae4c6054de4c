package limit

import "fmt"

// Limit is what a policy allows each source in packets, in bytes or in both.
// The zero value limits nothing.
type Limit struct {
	Packets, Bytes Params
}

// Bucket is the state of one source under one policy. Limit.Fresh makes that of
// an idle source. A Bucket has no lock: callers that share one must serialise
// Take and Adopt.
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

// Fresh returns the bucket of a source that is first seen at time now (ns).
func (l Limit) Fresh(now uint64) Bucket {
	return Bucket{Packets: l.Packets.Fresh(now), Bytes: l.Bytes.Fresh(now)}
}

// Fits returns None if one packet of length bytes may pass at time now (ns),
// else which part of the limit it exceeds, packets before bytes.
func (l Limit) Fits(b Bucket, length, now uint64) Refusal {
	if !l.Packets.Fits(b.Packets, 1, now) {
		return OverPackets
	}
	if !l.Bytes.Fits(b.Bytes, length, now) {
		return OverBytes
	}
	return None
}

// Take is Fits, and charges the packet to both parts of b if it may pass.
// Otherwise neither part changes. A part without a limit never does.
func (l Limit) Take(b *Bucket, length, now uint64) Refusal {
	if refusal := l.Fits(*b, length, now); refusal != None {
		return refusal
	}
	l.Packets.Take(&b.Packets, 1, now)
	l.Bytes.Take(&b.Bytes, length, now)
	return None
}

// Adopt carries b, last charged under was, over to l at time now (ns), as
// Params.Convert does: both parts, also if only one of them is different. It
// does nothing if l is was.
func (l Limit) Adopt(b *Bucket, was Limit, now uint64) {
	if l == was {
		return
	}
	b.Packets = l.Packets.Convert(b.Packets, was.Packets.Shift, now)
	b.Bytes = l.Bytes.Convert(b.Bytes, was.Bytes.Shift, now)
}

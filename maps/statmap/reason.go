package statmap

import (
	"fmt"

	"github.com/headgate/headgate/bpf"
)

var reasonNames = [bpf.ReasonLen]string{
	bpf.ReasonUnderLimit:         "under_limit",
	bpf.ReasonOverPacketLimit:    "over_packet_limit",
	bpf.ReasonOverByteLimit:      "over_byte_limit",
	bpf.ReasonAllowed:            "allowed",
	bpf.ReasonBlocked:            "blocked",
	bpf.ReasonNotIP:              "not_ip",
	bpf.ReasonNeighbourDiscovery: "neighbour_discovery",
	bpf.ReasonMalformed:          "malformed",
	bpf.ReasonUntracked:          "untracked",
	bpf.ReasonContended:          "contended",
	bpf.ReasonNoPolicy:           "no_policy",
}

// Reasons returns all reasons in the order in which they are shown.
func Reasons() []bpf.Reason {
	reasons := make([]bpf.Reason, bpf.ReasonLen)
	for i := range reasons {
		reasons[i] = bpf.Reason(i)
	}
	return reasons
}

// ReasonName returns the name of a reason in JSON, events and tables.
func ReasonName(r bpf.Reason) string {
	if r < bpf.ReasonLen {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason_%d", r)
}

var verdictNames = [bpf.VerdictLen]string{
	bpf.VerdictPass:      "pass",
	bpf.VerdictDrop:      "drop",
	bpf.VerdictWouldDrop: "would_drop",
}

// VerdictName returns "pass", "drop" or "would_drop".
func VerdictName(v bpf.Verdict) string {
	if v < bpf.VerdictLen {
		return verdictNames[v]
	}
	return fmt.Sprintf("verdict_%d", v)
}

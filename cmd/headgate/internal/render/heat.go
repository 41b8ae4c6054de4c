package render

import (
	"fmt"
	"math"
)

// Heat is the table in front of the buckets, for sources that are far from their limit.
type Heat struct {
	MemoryBytes uint64       `json:"memory_bytes"`
	Cells       int          `json:"cells"`
	Policies    []HeldPolicy `json:"policies"` // those that count by source
}

// HeldPolicy says what the table is for the sources of a policy.
type HeldPolicy struct {
	Policy string `json:"policy"`
	// HoldsPPS is up to how many packets a second from ever new sources they pass by their cells; null for
	// any number, as there is no limit, and where Exact.
	HoldsPPS *float64 `json:"holds_pps"`
	// Exact says that the limit has no cells: each source has a bucket from its first packet on.
	Exact bool `json:"exact"`
}

func (h Heat) facts() []Fact {
	facts := []Fact{{"heat", fmt.Sprintf("%s, %d cells", memory(h.MemoryBytes), h.Cells)}}
	for _, p := range h.Policies {
		facts = append(facts, Fact{"", p.Policy + ": " + p.words()})
	}
	return facts
}

func (p HeldPolicy) words() string {
	switch {
	case p.Exact:
		return "kept exactly for each source, as a burst takes more than 2.4 hours"
	case p.HoldsPPS == nil:
		return "any number of new sources, as there is no limit"
	default:
		return "up to " + PacketRate(*p.HoldsPPS) + " of new sources"
	}
}

// PacketRate writes packets a second that were measured or reckoned: 16.4 Mpps.
func PacketRate(perSecond float64) string {
	return scaled(math.Floor(perSecond), 1000, " ", "pps", "kpps", "Mpps", "Gpps", "Tpps")
}

// HeatCounts are what became of sources that had no bucket.
type HeatCounts struct {
	ColdPackets uint64 `json:"cold_packets"` // passed by their cell alone, for each policy that they passed
	Inserts     uint64 `json:"inserts"`      // buckets that were made
	Deferred    uint64 `json:"deferred"`     // and that a source needed and did not get
}

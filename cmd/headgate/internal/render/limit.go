package render

import "github.com/headgate/headgate/userspace/rate"

// Limit is a limit in packets, in bytes, or in both, as people write it. What is not limited is
// left out.
type Limit struct {
	Rate           string `json:"rate,omitempty"`
	Burst          uint64 `json:"burst,omitempty"` // packets
	Bandwidth      string `json:"bandwidth,omitempty"`
	BandwidthBurst uint64 `json:"bandwidth_burst,omitempty"` // bytes
}

func limitColumns() []Column {
	return []Column{right("RATE"), right("BURST"), right("BANDWIDTH"), right("BURST")}
}

func (l Limit) cells() []string {
	cells := []string{"-", "-", "-", "-"}
	if l.Rate != "" {
		cells[0], cells[1] = l.Rate, rate.FormatCount(l.Burst)
	}
	if l.Bandwidth != "" {
		cells[2], cells[3] = l.Bandwidth, rate.FormatSize(l.BandwidthBurst)
	}
	return cells
}

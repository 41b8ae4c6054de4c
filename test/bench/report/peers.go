package report

import (
	"io"
	"time"
)

// Names of receivers and loads that others are compared with.
const (
	DropAlone = "XDP_DROP alone"
	Headgate  = "headgate"

	// HeadgateTotal is with a limit on all sources together too.
	HeadgateTotal = "headgate, and a limit on all"

	NFT = "nft dynamic set"

	MillionSources = "1 M sources"
	NewSources     = "a new source each"
)

// Peers is one run of the benchmark beside other limiters of packets.
type Peers struct {
	Host     Host      `json:"host"`
	Versions []string  `json:"versions"` // of the peers
	Rounds   int       `json:"rounds"`   // samples per receiver and load
	Repeat   int       `json:"repeat"`   // packets per sample
	Rate     int       `json:"rate"`     // the limit of each source, in packets a second
	Burst    int       `json:"burst"`    // in packets
	Total    int       `json:"total"`    // the limit of all together, where there is one, in packets a second
	Rows     []PeerRow `json:"rows"`
	Verdicts []Verdict `json:"verdicts"`
}

// PeerRow has the results of all receivers under one load.
type PeerRow struct {
	Load    string       `json:"load"`
	Results []PeerResult `json:"results"`
}

// PeerResult has the medians over the rounds of one receiver. Shares are of the packets that it received.
type PeerResult struct {
	Name    string  `json:"name"`
	Ours    bool    `json:"ours"`
	Limiter bool    `json:"limiter"`
	Packets float64 `json:"packets_per_second"`
	Most    float64 `json:"most_packets_per_second"` // of all rounds
	NS      float64 `json:"ns_per_packet"`           // the sender's part included
	ToDrop  float64 `json:"ratio_to_xdp_drop"`       // of Packets
	ToNFT   float64 `json:"ratio_to_nft"`
	Passed  float64 `json:"passed_share"`
	Other   float64 `json:"otherwise_dropped_share"` // dropped, and not counted as over the limit
	Allowed float64 `json:"allowed_share"`           // what the limit lets pass while the packets come
}

// PeerRun is what one receiver made of the packets of one round.
type PeerRun struct {
	Packets, Passed, Over uint64
	Elapsed               time.Duration
}

// PeerSample is what was measured of one receiver under one load.
type PeerSample struct {
	Name  string
	Ours  bool
	Limit float64 // what it lets pass at most, in packets a second; 0 where it is no limiter
	runs  []PeerRun
}

// Add adds a round.
func (s *PeerSample) Add(r PeerRun) { s.runs = append(s.runs, r) }

// PeerLoad is what was measured of all receivers under one load.
type PeerLoad struct {
	Name      string
	Receivers []PeerSample
}

// PeerRows returns the figures of the loads, of which each receiver has a round at least. Among the receivers must be
// those named DropAlone and NFT.
func PeerRows(loads []PeerLoad) []PeerRow {
	var rows []PeerRow
	for _, l := range loads {
		row := PeerRow{Load: l.Name}
		for _, s := range l.Receivers {
			row.Results = append(row.Results, s.result())
		}
		drop, nft := row.of(DropAlone).Packets, row.of(NFT).Packets
		for i := range row.Results {
			one := &row.Results[i]
			one.ToDrop, one.ToNFT = one.Packets/drop, one.Packets/nft
		}
		rows = append(rows, row)
	}
	return rows
}

// result returns the figures of a receiver, without ratios.
func (s *PeerSample) result() PeerResult {
	of := func(get func(r PeerRun) float64) float64 { return medianOf(s.runs, get) }
	r := PeerResult{
		Name: s.Name, Ours: s.Ours, Limiter: s.Limit > 0,
		Packets: of(PeerRun.perSecond),
		Passed:  of(func(r PeerRun) float64 { return r.share(r.Passed) }),
		Other:   of(func(r PeerRun) float64 { return r.share(r.Packets - r.Passed - r.Over) }),
		Allowed: of(func(r PeerRun) float64 { return min(1, s.Limit/r.perSecond()) }),
	}
	r.NS = 1e9 / r.Packets
	for _, run := range s.runs {
		r.Most = max(r.Most, run.perSecond())
	}
	return r
}

func (r PeerRun) perSecond() float64 { return float64(r.Packets) / r.Elapsed.Seconds() }

func (r PeerRun) share(packets uint64) float64 { return float64(packets) / float64(r.Packets) }

// of returns the result of the receiver of that name, or a zero one.
func (r *PeerRow) of(name string) PeerResult {
	for _, one := range r.Results {
		if one.Name == name {
			return one
		}
	}
	return PeerResult{}
}

// leastToNFT is how many times as many packets of new sources headgate is to receive as nft does of a million known ones.
const leastToNFT = 4

// PeerVerdicts compares the figures of a run with what they are to be.
func PeerVerdicts(rows []PeerRow) []Verdict {
	var ours, total, theirs float64
	for _, row := range rows {
		switch row.Load {
		case NewSources:
			ours, total = row.of(Headgate).Packets, row.of(HeadgateTotal).Packets
		case MillionSources:
			theirs = row.of(NFT).Packets
		}
	}
	atLeast := func(name string, packets float64) Verdict {
		return AtLeast(name+", "+NewSources, packets/1e6, leastToNFT*theirs/1e6, "4 x "+NFT+", "+MillionSources, "Mpps")
	}
	return []Verdict{atLeast(Headgate, ours), atLeast(HeadgateTotal, total)}
}

// WriteJSON writes the report as one indented JSON object.
func (r *Peers) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

package report

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// peers returns a run of which the figures are known.
func peers() *Peers {
	sample := func(name string, limit float64, passed, over uint64, elapsed ...time.Duration) PeerSample {
		s := PeerSample{Name: name, Ours: strings.HasPrefix(name, Headgate), Limit: limit}
		for _, e := range elapsed {
			s.Add(PeerRun{Packets: 1_000_000, Passed: passed, Over: over, Elapsed: e})
		}
		return s
	}
	loads := []PeerLoad{
		{Name: MillionSources, Receivers: []PeerSample{
			sample(DropAlone, 0, 0, 0, 125*time.Millisecond),
			sample(Headgate, 1e9, 1_000_000, 0, time.Second/4, time.Second/2, time.Second),
			sample(NFT, 250_000, 260_000, 740_000, time.Second),
		}},
		{Name: NewSources, Receivers: []PeerSample{
			sample(DropAlone, 0, 0, 0, 100*time.Millisecond),
			sample(Headgate, 1e12, 1_000_000, 0, 400*time.Millisecond),
			sample(HeadgateTotal, 100_000, 20_000, 980_000, 200*time.Millisecond),
			sample(NFT, 1e12, 1000, 0, time.Second),
		}},
	}
	r := &Peers{
		Host: example().Host, Versions: []string{"nftables v1", "iptables v2"}, Rounds: 3, Repeat: 1_000_000,
		Rate: 1000, Burst: 1000, Total: 100_000, Rows: PeerRows(loads),
	}
	r.Verdicts = PeerVerdicts(r.Rows)
	return r
}

func TestWritePeersTable(t *testing.T) {
	const want = `kernel  Linux 6.18.0
CPU     2 x Example <1> & Co
Go      go1.26
date    2026-01-02T03:04:05Z
peers   nftables v1; iptables v2
limit   1,000 packets a second for each source, 1,000 at once; all together, where they are limited: 100,000
method  3 rounds, each of 1,000,000 packets per receiver; medians

1 M sources         Mpps     most  ns/packet  x XDP_DROP    x nft  let through   limit lets  other drops
XDP_DROP alone     8.000    8.000      125.0        1.00     8.00        0.00%            -            -
headgate           2.000    4.000      500.0        0.25     2.00      100.00%      100.00%        0.00%
nft dynamic set    1.000    1.000     1000.0        0.12     1.00       26.00%       25.00%        0.00%

a new source each                Mpps     most  ns/packet  x XDP_DROP    x nft  let through   limit lets  other drops
XDP_DROP alone                 10.000   10.000      100.0        1.00    10.00        0.00%            -            -
headgate                        2.500    2.500      400.0        0.25     2.50      100.00%      100.00%        0.00%
headgate, and a limit on all    5.000    5.000      200.0        0.50     5.00        2.00%        2.00%        0.00%
nft dynamic set                 1.000    1.000     1000.0        0.10     1.00        0.10%      100.00%       99.90%

headgate, a new source each: 2.50 Mpps, bound 4 x nft dynamic set, 1 M sources = 4.00 Mpps: not met
headgate, and a limit on all, a new source each: 5.00 Mpps, bound 4 x nft dynamic set, 1 M sources = 4.00 Mpps: met
`
	var b strings.Builder
	if err := peers().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestWritePeersJSON(t *testing.T) {
	var b strings.Builder
	if err := peers().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got Peers
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*peers(), got); diff != "" {
		t.Errorf("after writing and reading (-want +got):\n%s", diff)
	}
}

func TestWritePeersSVG(t *testing.T) {
	i := draw(t, peers())
	var classes []string
	for _, rect := range i.Rects {
		classes = append(classes, rect.Class)
	}
	want := []string{"card", "baseline", "headgate", "baseline", "baseline", "headgate", "headgate", "baseline"}
	if diff := cmp.Diff(want, classes); diff != "" {
		t.Errorf("rectangles (-want +got):\n%s", diff)
	}
	longest, new4, bound := i.Rects[4], i.Rects[5], i.Lines[0]
	if longest.Width != barsWidth || new4.Width != barsWidth/4 {
		t.Errorf("bars %v and %v wide, want %v and %v", longest.Width, new4.Width, barsWidth, barsWidth/4)
	}
	if got, want := bound.X1-longest.X, 0.4*barsWidth; got < want-0.1 || got > want+0.1 {
		t.Errorf("bound at %v, want %v", got, want)
	}
}

func TestWritePeersErrors(t *testing.T) {
	r := peers()
	for name, write := range map[string]func(io.Writer) error{
		"table": r.WriteTable, "JSON": r.WriteJSON, "SVG": r.WriteSVG,
	} {
		if err := write(full{}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s: got error %v, want %v", name, err, io.ErrShortWrite)
		}
	}
}

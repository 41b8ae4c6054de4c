package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteTable writes the report for people to read.
func (r *Peers) WriteTable(w io.Writer) error {
	b := bufio.NewWriter(w)
	r.Host.write(b)
	fmt.Fprintf(b, "peers   %s\n", strings.Join(r.Versions, "; "))
	fmt.Fprintf(b, "limit   %s packets a second for each source, %s at once; all together, where they are limited: %s\n",
		thousands(r.Rate), thousands(r.Burst), thousands(r.Total))
	fmt.Fprintf(b, "method  %s, each of %s packets per receiver; medians\n", plural(r.Rounds, "round"), thousands(r.Repeat))
	for _, row := range r.Rows {
		row.write(b)
	}
	fmt.Fprintln(b)
	for _, v := range r.Verdicts {
		fmt.Fprintln(b, v)
	}
	return b.Flush()
}

func (r *PeerRow) write(b *bufio.Writer) {
	name := width(len(MillionSources), r.Results, func(one PeerResult) string { return one.Name })
	fmt.Fprintf(b, "\n%-*s  %7s  %7s  %9s  %10s  %7s  %11s  %11s  %11s\n", name, r.Load,
		"Mpps", "most", "ns/packet", "x XDP_DROP", "x nft", "let through", "limit lets", "other drops")
	for _, one := range r.Results {
		limited, other := "-", "-"
		if one.Limiter {
			limited, other = percent(one.Allowed), percent(one.Other)
		}
		fmt.Fprintf(b, "%-*s  %7.3f  %7.3f  %9.1f  %10.2f  %7.2f  %11s  %11s  %11s\n", name, one.Name,
			one.Packets/1e6, one.Most/1e6, one.NS, one.ToDrop, one.ToNFT, percent(one.Passed), limited, other)
	}
}

func percent(share float64) string { return fmt.Sprintf("%.2f%%", 100*share) }

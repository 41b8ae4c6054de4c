package report

import (
	"bufio"
	"fmt"
	"io"
)

// WriteTable writes the report for people to read.
func (r *Scale) WriteTable(w io.Writer) error {
	b := bufio.NewWriter(w)
	r.Host.write(b)
	fmt.Fprintf(b, "method  %s, each of %s packets per number of sources, and of %v on CPUs\n",
		plural(r.Rounds, "round"), thousands(r.Repeat), r.Together)
	fmt.Fprintf(b, "\n%-13s %11s %9s %9s\n", "ns per packet", "room for", "under", "over")
	for _, s := range r.Sizes {
		fmt.Fprintf(b, "%-13s %11s %9.1f %9.1f\n", thousands(int(s.Sources)), thousands(int(s.Buckets)), s.Under, s.Over)
	}
	const heading = "Mpps"
	name := width(len(heading), r.CPUs, func(c OnCPUs) string { return c.Name })
	fmt.Fprintf(b, "\n%-*s %9s %9s %7s %12s %12s\n", name, heading, "1 CPU", "2 CPUs", "ratio", "16, estimate", "64, estimate")
	for _, c := range r.CPUs {
		fmt.Fprintf(b, "%-*s %9.2f %9.2f %7.2f %12.0f %12.0f\n", name, c.Name, c.One/1e6, c.Two/1e6, c.Ratio, c.On16/1e6, c.On64/1e6)
	}
	fmt.Fprintf(b, "\na CPU sees what the other wrote after %.1f ns\n", r.Line)
	return b.Flush()
}

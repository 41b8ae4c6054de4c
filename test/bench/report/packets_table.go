package report

import (
	"bufio"
	"fmt"
	"io"
)

// flowsHeading is above the flows, and the longest heading.
const flowsHeading = "Mpps over a veth pair"

// WriteTable writes the report for people to read.
func (r *Packets) WriteTable(w io.Writer) error {
	b := bufio.NewWriter(w)
	r.Host.write(b)
	fmt.Fprintf(b, "method  %d rounds, each of %d packets per program\n", r.Rounds, r.Repeat)
	r.writeCases(b)
	if len(r.Flows) > 0 {
		r.writeFlows(b)
	}
	fmt.Fprintln(b)
	for _, v := range r.Verdicts {
		fmt.Fprintln(b, v)
	}
	return b.Flush()
}

func (r *Packets) writeCases(b *bufio.Writer) {
	name := width(len(flowsHeading), r.Cases, func(c Case) string { return c.Name })
	fmt.Fprintf(b, "\n%-*s %9s %9s %9s %7s\n", name, "ns per packet", "min", "median", "net", "ratio")
	for _, c := range r.Cases {
		fmt.Fprintf(b, "%-*s %9.1f %9.1f %9.1f %7.2f\n", name, c.Name, c.Min, c.Median, c.Net, c.Ratio)
	}
}

func (r *Packets) writeFlows(b *bufio.Writer) {
	name := width(len(flowsHeading), r.Flows, func(f Flow) string { return f.Name })
	fmt.Fprintf(b, "\n%-*s %9s %9s %7s\n", name, flowsHeading, "most", "median", "ratio")
	for _, f := range r.Flows {
		fmt.Fprintf(b, "%-*s %9.3f %9.3f %7.2f\n", name, f.Name, f.Packets/1e6, f.Median/1e6, f.Ratio)
	}
}

package report

import (
	"bufio"
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// WriteTable writes the report for people to read.
func (r *Report) WriteTable(w io.Writer) error {
	b := bufio.NewWriter(w)
	r.writeHeader(b)
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

func (r *Report) writeHeader(b *bufio.Writer) {
	fmt.Fprintf(b, "kernel  %s\n", r.Host.Kernel)
	fmt.Fprintf(b, "CPU     %d x %s\n", r.Host.CPUs, r.Host.CPU)
	fmt.Fprintf(b, "date    %s\n", r.Host.Time.Format(time.RFC3339))
	fmt.Fprintf(b, "method  %d rounds, each of %d packets per program\n", r.Rounds, r.Repeat)
}

func (r *Report) writeCases(b *bufio.Writer) {
	width := nameWidth(r.Cases, func(c Case) string { return c.Name })
	fmt.Fprintf(b, "\n%-*s %9s %9s %9s %7s\n", width, "ns per packet", "min", "median", "net", "ratio")
	for _, c := range r.Cases {
		fmt.Fprintf(b, "%-*s %9.1f %9.1f %9.1f %7.2f\n", width, c.Name, c.Min, c.Median, c.Net, c.Ratio)
	}
}

func (r *Report) writeFlows(b *bufio.Writer) {
	width := nameWidth(r.Flows, func(f Flow) string { return f.Name })
	fmt.Fprintf(b, "\n%-*s %9s %9s %7s\n", width, "Mpps over a veth pair", "most", "median", "ratio")
	for _, f := range r.Flows {
		fmt.Fprintf(b, "%-*s %9.3f %9.3f %7.2f\n", width, f.Name, f.Packets/1e6, f.Median/1e6, f.Ratio)
	}
}

// nameWidth is how wide the first column is: at least as wide as its heading.
func nameWidth[T any](rows []T, name func(T) string) int {
	width := len("Mpps over a veth pair")
	for _, row := range rows {
		width = max(width, utf8.RuneCountInString(name(row)))
	}
	return width
}

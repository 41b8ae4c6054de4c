package report

import (
	"bufio"
	"fmt"
	"io"
	"time"
)

// WriteTable writes the report for people to read.
func (r *Fleet) WriteTable(w io.Writer) error {
	b := bufio.NewWriter(w)
	r.Host.write(b)
	fmt.Fprintf(b, "method  %s, each of %v per client, %s\n", plural(r.Rounds, "round"), r.Sample, plural(r.Keys, "key"))
	for _, row := range r.Rows {
		row.write(b)
	}
	writeFaults(b, r.Faults)
	fmt.Fprintln(b)
	for _, bound := range r.Bounds() {
		kept := "kept    "
		if !bound.Kept {
			kept = "NOT KEPT"
		}
		fmt.Fprintf(b, "%s  %s\n", kept, bound.Text)
	}
	return b.Flush()
}

func (row *FleetRow) write(b *bufio.Writer) {
	title := plural(row.Parallel, "caller")
	name := width(len(title), row.Results, func(one FleetResult) string { return one.Client })
	fmt.Fprintf(b, "\n%-*s %12s %7s %9s %7s %7s %7s %9s\n", name, title, "decisions/s", "ratio", "to no-op", "p50 µs", "p99 µs", "trips", "Redis µs")
	for _, one := range row.Results {
		fmt.Fprintf(b, "%-*s %12s %7.2f %9.2f %7.0f %7.0f %7.3f %9.1f\n", name, one.Client, thousands(int(one.Rate)), one.Ratio, one.Noop,
			micro(one.P50), micro(one.P99), one.Trips, micro(one.ServerCPU))
	}
}

func writeFaults(b *bufio.Writer, faults []Fault) {
	const title = "fault"
	name := width(len(title), faults, func(f Fault) string { return f.Name })
	fmt.Fprintf(b, "\n%-*s %10s %11s %11s %9s %8s\n", name, title, "calls", "longest ms", "time-out ms", "timer ms", "back ms")
	for _, f := range faults {
		fmt.Fprintf(b, "%-*s %10s %11.1f %11.0f %9.1f %8.0f\n", name, f.Name, thousands(f.Calls),
			milli(f.Longest), milli(f.Timeout), milli(f.Timer), milli(f.Back))
	}
}

func milli(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"time"
)

// WriteTable writes the report for people to read.
func (r *Goodput) WriteTable(w io.Writer) error {
	b := bufio.NewWriter(w)
	r.Host.write(b)
	fmt.Fprintf(b, "method  %d rounds, each of three phases of %v; a flood of %d attempts a second over %d connections\n",
		r.Rounds, r.Phase, r.Rate, r.Connections)
	fmt.Fprintf(b, "        %d rounds of %v each for what the agent costs\n", r.AskRounds, r.Asking)
	if len(r.Fronts) > 0 {
		r.writeGoodput(b)
		r.writeAttempts(b)
	}
	if len(r.Costs) > 0 {
		r.writeCosts(b)
	}
	fmt.Fprintln(b)
	for _, v := range r.Verdicts {
		fmt.Fprintln(b, v)
	}
	return b.Flush()
}

const goodputHeading = "goodput of a client that works"

func (r *Goodput) nameWidth() int {
	return width(len(goodputHeading), r.Fronts, func(f Front) string { return f.Name })
}

func (r *Goodput) writeGoodput(b *bufio.Writer) {
	name := r.nameWidth()
	fmt.Fprintf(b, "\n%-*s %21s %21s %6s\n", name, goodputHeading, "without the flood", "during the flood", "kept")
	fmt.Fprintf(b, "%-*s %10s %10s %10s %10s\n", name, "", "requests/s", "p99 ms", "requests/s", "p99 ms")
	for _, f := range r.Fronts {
		fmt.Fprintf(b, "%-*s %10.0f %10.2f %10.0f %10.2f %5.0f%%\n", name, f.Name,
			f.Quiet, milliseconds(f.QuietP99), f.Flooded, milliseconds(f.FloodP99), 100*f.Kept)
	}
}

func (r *Goodput) writeAttempts(b *bufio.Writer) {
	name := r.nameWidth()
	fmt.Fprintf(b, "\n%-*s %10s %10s %10s %10s %14s\n", name, "the flood alone", "attempts/s", "CPU us", "of nginx's", "CPU busy", "refused before")
	for _, f := range r.Fronts {
		before := "-"
		if f.HandsDown {
			before = fmt.Sprintf("%.0f", f.Until)
		}
		fmt.Fprintf(b, "%-*s %10.0f %10.3f %10s %9.0f%% %14s\n", name, f.Name,
			f.Attempts, microseconds(f.CPU), part(r.Fronts[0].CPU, f.CPU), 100*f.Busy, before)
	}
	if r.Segment > 0 {
		fmt.Fprintf(b, "%-*s %10s %10.3f %10s\n", name, "headgate, segments sent raw", "", r.Segment/1e3,
			part(r.Fronts[0].CPU, time.Duration(r.Segment)))
	}
}

// part returns which part one is of a whole.
func part(whole, one time.Duration) string {
	if one <= 0 {
		return "-"
	}
	if one > whole/2 {
		return fmt.Sprintf("%.2f", float64(one)/float64(whole))
	}
	return fmt.Sprintf("1/%.0f", float64(whole)/float64(one))
}

func (r *Goodput) writeCosts(b *bufio.Writer) {
	name := r.nameWidth()
	fmt.Fprintf(b, "\n%-*s %21s %7s %21s %7s\n", name, "what the agent costs", "requests/s", "ratio", "CPU us a request", "ratio")
	fmt.Fprintf(b, "%-*s %10s %10s %7s %10s %10s\n", name, "", "bare", "headgate", "", "bare", "headgate")
	for _, c := range r.Costs {
		fmt.Fprintf(b, "%-*s %10.0f %10.0f %7.2f %10.1f %10.1f %7.2f\n", name, c.Name,
			c.Bare, c.Rate, c.Ratio, microseconds(c.BareCPU), microseconds(c.CPU), c.CPURatio)
	}
	const mib = 1 << 20
	fmt.Fprintf(b, "memory of the agent: %.1f MiB after the first round, %.1f after the last, %.1f at most\n",
		float64(r.Memory[0])/mib, float64(r.Memory[len(r.Memory)-1])/mib, float64(slices.Max(r.Memory))/mib)
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

func microseconds(d time.Duration) float64 { return float64(d) / 1e3 }

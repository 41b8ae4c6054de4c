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
	fmt.Fprintf(b, "\n%-*s %10s %21s %10s %14s\n", name, "the flood alone", "", "CPU us an attempt", "CPU", "refused until")
	fmt.Fprintf(b, "%-*s %10s %10s %10s %10s %14s\n", name, "", "attempts/s", "kept conn", "new conn", "busy", "handed down")
	for _, f := range r.Fronts {
		before := "-"
		if f.HandsDown {
			before = fmt.Sprintf("%.0f", f.Until)
		}
		fmt.Fprintf(b, "%-*s %10.0f %10.2f %10.2f %9.0f%% %14s\n", name, f.Name,
			f.Attempts, microseconds(f.CPU), microseconds(f.CPUAnew), 100*f.Busy, before)
	}
	fmt.Fprintf(b, "%-*s %10s %10.2f %10.2f\n", name, "a program that only drops", "", microseconds(r.Wire.Knock), microseconds(r.Wire.Knock))
	fmt.Fprintln(b, "\nframes that a driver hands over, as fast as they come: CPU us for each request that is dropped")
	for _, dropper := range []struct {
		name string
		Frames
	}{{"headgate, handed down", r.Frames}, {"a program that only drops", r.Wire.Frames}} {
		fmt.Fprintf(b, "%-*s %10s %10.3f %10.3f\n", name, dropper.name, "", microseconds(dropper.Request), microseconds(dropper.SYN))
	}
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

package report

import "io"

// WriteSVG writes a plot of what the servers' CPU time per attempt of the attacker is. A line marks the bound of the
// first verdict in µs, if there is one.
func (r *Goodput) WriteSVG(w io.Writer) error {
	c := chart{
		name:     "CPU time per attempt of an attacker",
		title:    "µs of CPU time per refused attempt of an attacker, and share of another client's requests kept",
		subtitle: r.Host.String(),
	}
	c.rows = append(c.rows, chartRow{label: "µs per refused attempt", heading: true})
	for _, f := range r.Fronts {
		c.rows = append(c.rows, chartRow{label: f.Name, value: microseconds(f.CPU), baseline: !f.Ours})
	}
	c.rows = append(c.rows, chartRow{label: "% of requests kept", heading: true})
	for _, f := range r.Fronts {
		c.rows = append(c.rows, chartRow{label: f.Name, value: 100 * f.Kept, baseline: !f.Ours})
	}
	return c.write(w)
}

package report

import "io"

// WriteSVG writes a plot of which share of its requests a client keeps while another floods, and what each attempt of that
// one takes of the servers' CPU time.
func (r *Goodput) WriteSVG(w io.Writer) error {
	c := chart{
		name:     "a client's requests kept in a flood, and the servers' CPU time per attempt of the attacker",
		title:    "requests kept in a flood, and CPU time per attempt",
		subtitle: r.Host.String(),
	}
	heading := func(s string) { c.rows = append(c.rows, chartRow{label: s, heading: true}) }
	heading("% of the requests of a client that works")
	for _, f := range r.Fronts {
		c.rows = append(c.rows, chartRow{label: f.Name, value: 100 * f.Kept, baseline: !f.Ours})
	}
	heading("µs of CPU time per attempt of the attacker, on a connection each")
	for _, f := range r.Fronts {
		c.rows = append(c.rows, chartRow{label: f.Name, value: microseconds(f.CPUAnew), baseline: !f.Ours})
	}
	c.rows = append(c.rows, chartRow{label: "a program that only drops", value: microseconds(r.Wire.Knock), baseline: true})
	c.rows = append(c.rows, chartRow{label: "headgate, a frame as a driver hands it over", value: microseconds(r.Frames.SYN)})
	return c.write(w)
}

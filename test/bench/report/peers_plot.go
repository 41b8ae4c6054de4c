package report

import "io"

// WriteSVG writes a plot of the packets a second of all receivers, load by load. A line marks the bound of the verdict.
func (r *Peers) WriteSVG(w io.Writer) error {
	c := chart{
		name:     "packets a second by receiver and number of sources",
		title:    "million packets a second over a veth pair (median of all rounds)",
		subtitle: r.Host.String(),
	}
	for _, row := range r.Rows {
		c.rows = append(c.rows, chartRow{label: row.Load, heading: true})
		for _, one := range row.Results {
			c.rows = append(c.rows, chartRow{label: one.Name, value: one.Packets / 1e6, baseline: !one.Ours})
		}
	}
	if len(r.Verdicts) > 0 {
		c.bound = &r.Verdicts[0]
	}
	return c.write(w)
}

package report

import (
	"fmt"
	"io"
)

// WriteSVG writes a plot of the decisions a second of all clients.
func (r *Fleet) WriteSVG(w io.Writer) error {
	c := chart{
		name:     "thousands of decisions a second by client",
		title:    "1000 decisions a second (median of all rounds)",
		subtitle: fmt.Sprintf("%s, %s", r.Host.Go, r.Host),
	}
	for _, row := range r.Rows {
		c.rows = append(c.rows, chartRow{heading: true, label: plural(row.Parallel, "caller")})
		for _, one := range row.Results {
			c.rows = append(c.rows, chartRow{label: one.Client, value: one.Rate / 1000, baseline: !one.Ours})
		}
	}
	return c.write(w)
}

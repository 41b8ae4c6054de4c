package report

import (
	"io"
	"slices"
)

// WriteSVG writes a plot of the net ns per packet of all cases. A line marks the bound
// of the first verdict in ns, if there is one.
func (r *Packets) WriteSVG(w io.Writer) error {
	c := chart{
		name:     "ns per packet by program",
		title:    "ns per packet (minimum of all rounds, net)",
		subtitle: r.Host.String(),
	}
	for _, one := range r.Cases {
		c.rows = append(c.rows, chartRow{label: one.Name, value: one.Net, baseline: one.Baseline})
	}
	if i := slices.IndexFunc(r.Verdicts, func(v Verdict) bool { return v.Unit == "ns" }); i >= 0 {
		c.bound = &r.Verdicts[i]
	}
	return c.write(w)
}

package report

import (
	"fmt"
	"io"
)

// WriteSVG writes a plot of what a packet costs by the number of sources.
func (r *Scale) WriteSVG(w io.Writer) error {
	c := curves{
		name:     "ns per packet by the number of sources",
		title:    "ns per packet by the number of sources (least of all rounds, net)",
		subtitle: r.Host.String(),
		lines:    []curve{{name: "under the limit"}, {name: "over the limit"}},
	}
	for _, s := range r.Sizes {
		c.x, c.labels = append(c.x, float64(s.Sources)), append(c.labels, short(s.Sources))
		c.lines[0].y, c.lines[1].y = append(c.lines[0].y, s.Under), append(c.lines[1].y, s.Over)
	}
	c.lines[1].baseline = true
	return c.write(w)
}

// short writes whole thousands and millions as people do: 10 k, 4 M.
func short(n uint64) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return fmt.Sprintf("%d M", n/1_000_000)
	case n >= 1000 && n%1000 == 0:
		return fmt.Sprintf("%d k", n/1000)
	}
	return fmt.Sprint(n)
}

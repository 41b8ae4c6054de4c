package report

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"slices"
)

// Measures of the plot in pixels. A character of a label is taken to be charWidth wide.
const (
	margin    = 16
	rowHeight = 20
	barHeight = 13
	barsWidth = 420
	charWidth = 7.3
	headSpace = 84
	noteSpace = 50 // right of the longest bar, for its figure
)

// The plot brings its own background, so that it reads the same on light and dark pages.
const svgStyle = `<style>
text { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #24292f }
.title { font-size: 14px; font-weight: bold }
.small { fill: #57606a; stroke: #f6f8fa; stroke-width: 3px; paint-order: stroke }
.card { fill: #f6f8fa; stroke: #d0d7de }
.baseline { fill: #8c959f }
.headgate { fill: #0969da }
.bound { stroke: #bc4c00 }
.legend { fill: #bc4c00 }
</style>
`

// WriteSVG writes a plot of the net ns per packet of all cases. A line marks the bound
// of the first verdict in ns, if there is one.
func (r *Report) WriteSVG(w io.Writer) error {
	p := newPlot(w, r.Cases)
	p.open(r)
	i := slices.IndexFunc(r.Verdicts, func(v Verdict) bool { return v.Unit == "ns" })
	if i >= 0 {
		p.bound(len(r.Cases), r.Verdicts[i])
	}
	for i, c := range r.Cases {
		p.bar(i, c)
	}
	fmt.Fprintln(p.out, "</svg>")
	return p.out.Flush()
}

type plot struct {
	out           *bufio.Writer
	left          float64 // where bars begin
	scale         float64 // pixels per ns
	width, height float64
}

func newPlot(w io.Writer, cases []Case) *plot {
	longest := 1.0
	for _, c := range cases {
		longest = max(longest, c.Net)
	}
	p := &plot{out: bufio.NewWriter(w), scale: barsWidth / longest}
	p.left = margin + charWidth*float64(nameWidth(cases, func(c Case) string { return c.Name })) + charWidth*2
	p.width = p.left + barsWidth + noteSpace + margin
	p.height = headSpace + rowHeight*float64(len(cases)) + margin
	return p
}

func (p *plot) open(r *Report) {
	fmt.Fprintf(p.out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">`+"\n",
		p.width, p.height, p.width, p.height)
	fmt.Fprintln(p.out, "<title>ns per packet by program</title>")
	fmt.Fprintf(p.out, "%s", svgStyle)
	fmt.Fprintf(p.out, `<rect class="card" x="0.5" y="0.5" width="%.0f" height="%.0f" rx="6"/>`+"\n",
		p.width-1, p.height-1)
	p.text(margin, 26, "title", "ns per packet (minimum of all rounds, net)")
	p.text(margin, 44, "small", fmt.Sprintf("Linux %s, %s, %s",
		r.Host.Kernel, r.Host.CPU, r.Host.Time.Format("2006-01-02")))
}

func (p *plot) bar(row int, c Case) {
	class := "headgate"
	if c.Baseline {
		class = "baseline"
	}
	top := headSpace + rowHeight*float64(row)
	length := max(c.Net*p.scale, 0)
	p.text(margin, top+11, "label", c.Name)
	fmt.Fprintf(p.out, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%d"/>`+"\n",
		class, p.left, top, length, barHeight)
	p.text(p.left+length+5, top+11, "small", fmt.Sprintf("%.1f", c.Net))
}

func (p *plot) bound(rows int, v Verdict) {
	x := p.left + v.Bound*p.scale
	fmt.Fprintf(p.out, `<line class="bound" x1="%.1f" y1="%d" x2="%.1f" y2="%.1f"/>`+"\n",
		x, headSpace-18, x, headSpace+rowHeight*float64(rows))
	p.text(x+5, headSpace-9, "legend", fmt.Sprintf("%.1f = %s", v.Bound, v.Basis))
}

func (p *plot) text(x, y float64, class, s string) {
	fmt.Fprintf(p.out, `<text class="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, x, y, html.EscapeString(s))
}

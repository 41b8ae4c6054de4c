package report

import (
	"bufio"
	"fmt"
	"html"
	"io"
)

// Measures of a chart in pixels. A character of a label is taken to be charWidth wide.
const (
	margin     = 16
	rowHeight  = 20
	barHeight  = 13
	barsWidth  = 420
	charWidth  = 7.3
	headSpace  = 84
	leastLabel = 21 // characters
	noteSpace  = 50 // right of the longest bar, for its figure
)

// The chart brings its own background, so that it reads the same on light and dark pages.
const chartStyle = `<style>
text { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #24292f }
.title { font-size: 14px; font-weight: bold }
.small { fill: #57606a; stroke: #f6f8fa; stroke-width: 3px; paint-order: stroke }
.heading { font-weight: bold }
.card { fill: #f6f8fa; stroke: #d0d7de }
.baseline { fill: #8c959f }
.headgate { fill: #0969da }
.bound { stroke: #bc4c00 }
.legend { fill: #bc4c00 }
.curve { fill: none; stroke-width: 2px }
.curve.baseline { stroke: #8c959f }
.curve.headgate { stroke: #0969da }
</style>
`

// chart is a plot of horizontal bars, one a row.
type chart struct {
	name     string // for those who do not see it
	title    string
	subtitle string
	rows     []chartRow
	bound    *Verdict // a vertical line, or nil
}

// chartRow is a bar, or a heading of those that follow.
type chartRow struct {
	label    string
	value    float64
	baseline bool // not headgate
	heading  bool
}

// write writes the chart as SVG.
func (c chart) write(w io.Writer) error {
	p := newPlot(w, c.rows)
	p.open(c)
	if c.bound != nil {
		p.bound(len(c.rows), *c.bound)
	}
	for i, row := range c.rows {
		p.row(i, row)
	}
	fmt.Fprintln(p.out, "</svg>")
	return p.out.Flush()
}

type plot struct {
	out           *bufio.Writer
	left          float64 // where bars begin
	scale         float64 // pixels per unit
	width, height float64
}

func newPlot(w io.Writer, rows []chartRow) *plot {
	longest := 1.0
	for _, row := range rows {
		longest = max(longest, row.value)
	}
	p := &plot{out: bufio.NewWriter(w), scale: barsWidth / longest}
	label := width(leastLabel, rows, func(row chartRow) string { return row.label })
	p.left = margin + charWidth*float64(label) + charWidth*2
	p.width = p.left + barsWidth + noteSpace + margin
	p.height = headSpace + rowHeight*float64(len(rows)) + margin
	return p
}

func (p *plot) open(c chart) {
	fmt.Fprintf(p.out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">`+"\n",
		p.width, p.height, p.width, p.height)
	fmt.Fprintf(p.out, "<title>%s</title>\n", html.EscapeString(c.name))
	fmt.Fprintf(p.out, "%s", chartStyle)
	fmt.Fprintf(p.out, `<rect class="card" x="0.5" y="0.5" width="%.0f" height="%.0f" rx="6"/>`+"\n",
		p.width-1, p.height-1)
	p.text(margin, 26, "title", c.title)
	p.text(margin, 44, "small", c.subtitle)
}

func (p *plot) row(number int, row chartRow) {
	top := headSpace + rowHeight*float64(number)
	if row.heading {
		p.text(margin, top+11, "heading", row.label)
		return
	}
	class := "headgate"
	if row.baseline {
		class = "baseline"
	}
	length := max(row.value*p.scale, 0)
	p.text(margin, top+11, "label", row.label)
	fmt.Fprintf(p.out, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%d"/>`+"\n",
		class, p.left, top, length, barHeight)
	p.text(p.left+length+5, top+11, "small", fmt.Sprintf("%.1f", row.value))
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

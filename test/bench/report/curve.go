package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Measures of a plot of curves in pixels.
const (
	curvesWidth  = 480
	curvesHeight = 240
	axisSpace    = 60 // left of the plot, for the figures
	nameSpace    = 130
)

// curves is a plot of lines over a logarithmic axis.
type curves struct {
	name, title, subtitle string
	x                     []float64 // ascending
	labels                []string  // of each x
	lines                 []curve
}

// curve is one line, with a value for each x.
type curve struct {
	name     string
	y        []float64
	baseline bool // not headgate
}

// write writes the curves as SVG.
func (c curves) write(w io.Writer) error {
	p := newPlot(w, nil)
	p.left = axisSpace
	p.width = axisSpace + curvesWidth + nameSpace + margin
	p.height = headSpace + curvesHeight + rowHeight + margin
	p.open(chart{name: c.name, title: c.title, subtitle: c.subtitle})
	top := niceAbove(c.most())
	for i := range 6 {
		p.level(top*float64(i)/5, top)
	}
	for i, label := range c.labels {
		p.text(p.left+c.at(i)-charWidth*float64(len(label))/2, headSpace+curvesHeight+rowHeight, "small", label)
	}
	names := make([]float64, 0, len(c.lines))
	for _, line := range c.lines {
		names = append(names, p.line(c, line, top))
	}
	for i, y := range apart(names) {
		p.text(p.left+curvesWidth+8, y+4, "label", c.lines[i].name)
	}
	fmt.Fprintln(p.out, "</svg>")
	return p.out.Flush()
}

func (c curves) most() float64 {
	most := 0.0
	for _, line := range c.lines {
		for _, y := range line.y {
			most = max(most, y)
		}
	}
	return most
}

// at returns where number i of x is, in pixels from the left end of the axis.
func (c curves) at(i int) float64 {
	if i == 0 {
		return 0
	}
	return curvesWidth * math.Log(c.x[i]/c.x[0]) / math.Log(c.x[len(c.x)-1]/c.x[0])
}

// level draws a horizontal line of the grid.
func (p *plot) level(value, top float64) {
	y := headSpace + curvesHeight*(1-value/top)
	fmt.Fprintf(p.out, `<line class="card" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", p.left, y, p.left+curvesWidth, y)
	p.text(margin, y+4, "small", fmt.Sprintf("%.0f", value))
}

// line draws a line, and returns at what height it ends.
func (p *plot) line(c curves, line curve, top float64) float64 {
	class := "headgate"
	if line.baseline {
		class = "baseline"
	}
	var points strings.Builder
	y := 0.0
	for i, value := range line.y {
		x := p.left + c.at(i)
		y = headSpace + curvesHeight*(1-max(value, 0)/top)
		fmt.Fprintf(&points, "%.1f,%.1f ", x, y)
		fmt.Fprintf(p.out, `<circle class="%s" cx="%.1f" cy="%.1f" r="3"/>`+"\n", class, x, y)
	}
	fmt.Fprintf(p.out, `<polyline class="curve %s" points="%s"/>`+"\n", class, strings.TrimSpace(points.String()))
	return y
}

// apart returns heights that leave room for a name each, in the order in which they are.
func apart(heights []float64) []float64 {
	order := make([]int, len(heights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(heights[a], heights[b]) })
	placed := slices.Clone(heights)
	for i := 1; i < len(order); i++ {
		placed[order[i]] = max(placed[order[i]], placed[order[i-1]]+rowHeight-4)
	}
	return placed
}

// niceAbove returns the least 1, 2 or 5 times a power of ten that is not below a value, and at least 1.
func niceAbove(value float64) float64 {
	for power := 1.0; ; power *= 10 {
		for _, factor := range []float64{1, 2, 5} {
			if factor*power >= value {
				return factor * power
			}
		}
	}
}

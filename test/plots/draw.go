package main

import (
	"bytes"
	"fmt"
	"html"
	"iter"
	"math"
	"slices"
	"time"
)

// Measures in pixels.
const (
	width, height         = 880, 380
	left, right           = 60, 24
	top, bottom           = 84, 40
	legendLeft, legendRow = 84, 18
)

// The picture brings its own background, so that it reads the same on light and dark pages.
const style = `<style>
text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #24292f }
.title { font-size: 14px; font-weight: 600 }
.small { fill: #57606a }
.end { text-anchor: end }
.middle { text-anchor: middle }
.card { fill: #f6f8fa; stroke: #d0d7de }
.grid { stroke: #d0d7de }
.line { fill: none; stroke-width: 2 }
.offered { stroke: #8c959f; stroke-dasharray: 2 3 }
.rate { stroke: #8c959f }
.window { stroke: #cf222e }
.sliding { stroke: #8250df }
.leaky { stroke: #0969da }
.waits { stroke: #1a7f37; stroke-dasharray: 7 3 }
.bar { stroke-width: 12; stroke-dasharray: none }
.cross { stroke-dasharray: none }
.label { stroke: #f6f8fa; stroke-width: 4px; paint-order: stroke }
</style>
`

// axis is a range of numbers, with one written at each step; a step of 0 is for none.
type axis struct {
	from, to, step float64
	format         string
}

// plot is a picture with two axes.
type plot struct {
	out  bytes.Buffer
	h, v axis // horizontal and vertical
}

func newPlot(title, subtitle string, h, v axis) *plot {
	p := &plot{h: h, v: v}
	fmt.Fprintf(&p.out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&p.out, "<title>%s</title>\n%s", html.EscapeString(title), style)
	fmt.Fprintf(&p.out, `<rect class="card" x="0.5" y="0.5" width="%d" height="%d" rx="6"/>`+"\n", width-1, height-1)
	p.text(16, 26, "title", title)
	p.text(16, 46, "small", subtitle)
	for n := range v.marks() {
		fmt.Fprintf(&p.out, `<path class="grid" d="M%d %.1fH%d"/>`+"\n", left, p.y(n), width-right)
		p.text(left-8, p.y(n)+4, "small end", fmt.Sprintf(v.format, n))
	}
	for n := range h.marks() {
		p.text(p.x(n), height-bottom+18, "small middle", fmt.Sprintf(h.format, n))
	}
	return p
}

// marks yields the numbers that are written.
func (a axis) marks() iter.Seq[float64] {
	return func(yield func(float64) bool) {
		if a.step == 0 {
			return
		}
		for i := range int(math.Round((a.to-a.from)/a.step)) + 1 {
			if !yield(a.from + float64(i)*a.step) {
				return
			}
		}
	}
}

// part returns how much of the axis is before n.
func (a axis) part(n float64) float64 { return (n - a.from) / (a.to - a.from) }

func (p *plot) x(n float64) float64 { return left + p.h.part(n)*(width-left-right) }
func (p *plot) y(n float64) float64 { return height - bottom - p.v.part(n)*(height-top-bottom) }

func (p *plot) text(x, y float64, class, s string) {
	fmt.Fprintf(&p.out, `<text class="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, x, y, html.EscapeString(s))
}

// steps draws how many of the sorted times have passed.
func (p *plot) steps(times []time.Duration, class string) {
	before, _ := slices.BinarySearch(times, time.Duration(p.h.from*float64(time.Second)))
	if p.h.from == 0 {
		before = 0 // what is at the start is seen to rise
	}
	fmt.Fprintf(&p.out, `<path class="line %s" d="M%.1f %.1f`, class, p.x(p.h.from), p.y(float64(before)))
	for i, t := range times[before:] {
		if t.Seconds() > p.h.to {
			break
		}
		fmt.Fprintf(&p.out, "H%.1fV%.1f", p.x(t.Seconds()), p.y(float64(before+i+1)))
	}
	fmt.Fprintf(&p.out, `H%.1f"/>`+"\n", p.x(p.h.to))
}

// legend names a line; row counts from 0.
func (p *plot) legend(row int, class, s string) {
	y := float64(top + 10 + row*legendRow)
	fmt.Fprintf(&p.out, `<path class="line %s" d="M%d %.1fh28"/>`+"\n", class, legendLeft, y)
	p.text(legendLeft+36, y+4, "label", s)
}

func (p *plot) bytes() []byte {
	p.out.WriteString("</svg>\n")
	return p.out.Bytes()
}

package render

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Page collects lines of text. The zero Page is empty and ready to use. What does not print is written as in Go:
// names, keys and patterns are of files and of clients, and must not command the terminal.
type Page struct {
	text bytes.Buffer
}

// gap is between two columns.
const gap = "  "

// Line adds a line, or several if there are newlines in it.
func (p *Page) Line(format string, args ...any) {
	p.text.WriteString(printable(fmt.Sprintf(format, args...)) + "\n")
}

// printable returns text with what does not print, but for newlines, written as in Go.
func printable(text string) string {
	hidden := func(c rune) bool { return !unicode.IsPrint(c) && c != '\n' }
	if text = strings.ToValidUTF8(text, "\ufffd"); !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		if hidden(c) {
			b.WriteString(strings.Trim(strconv.QuoteRune(c), "'"))
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// cell returns text for a line of a grid.
func cell(text string) string { return strings.ReplaceAll(printable(text), "\n", `\n`) }

// Section adds an empty line, unless the page is empty.
func (p *Page) Section() {
	if p.text.Len() > 0 {
		p.text.WriteByte('\n')
	}
}

// Column is a column of a grid.
type Column struct {
	Name  string
	Right bool // aligned, as numbers are
}

func left(name string) Column  { return Column{Name: name} }
func right(name string) Column { return Column{Name: name, Right: true} }

// Grid adds a heading and rows in columns that are as wide as they need to be. A row has a cell
// for each column.
func (p *Page) Grid(columns []Column, rows [][]string) {
	widths := make([]int, len(columns))
	heading := make([]string, len(columns))
	for i, c := range columns {
		heading[i] = c.Name
		widths[i] = utf8.RuneCountInString(c.Name)
	}
	cells := make([][]string, len(rows))
	for n, row := range rows {
		for i, text := range row {
			cells[n] = append(cells[n], cell(text))
			widths[i] = max(widths[i], utf8.RuneCountInString(cells[n][i]))
		}
	}
	p.row(columns, widths, heading)
	for _, row := range cells {
		p.row(columns, widths, row)
	}
}

// row adds one line of a grid, without spaces at its end.
func (p *Page) row(columns []Column, widths []int, cells []string) {
	start := p.text.Len()
	for i, cell := range cells {
		if i > 0 {
			p.text.WriteString(gap)
		}
		if columns[i].Right {
			p.pad(cell, widths[i])
			p.text.WriteString(cell)
		} else {
			p.text.WriteString(cell)
			p.pad(cell, widths[i])
		}
	}
	line := bytes.TrimRight(p.text.Bytes()[start:], " ")
	p.text.Truncate(start + len(line))
	p.text.WriteByte('\n')
}

func (p *Page) pad(cell string, width int) {
	for range width - utf8.RuneCountInString(cell) {
		p.text.WriteByte(' ')
	}
}

// Fact is a name and what is to be said of it.
type Fact struct{ Name, Value string }

// Facts adds a line for each fact, values aligned.
func (p *Page) Facts(facts ...Fact) {
	width := 0
	for _, f := range facts {
		width = max(width, utf8.RuneCountInString(f.Name))
	}
	for _, f := range facts {
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(f.Name))
		p.Line("%s", strings.TrimRight(f.Name+pad+gap+f.Value, " "))
	}
}

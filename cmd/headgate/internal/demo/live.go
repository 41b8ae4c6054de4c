package demo

import (
	"bytes"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
)

// Control sequences of ECMA-48, which every terminal in use understands.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	clearLine  = "\x1b[K"
	upLines    = "\x1b[%dA"
)

// redraw is how often the numbers change on a terminal: five times a second.
const redraw = 200 * time.Millisecond

// indent stands before what belongs to a phase.
const indent = "   "

// live shows the phases. On a terminal it draws the numbers over each other.
type live struct {
	w        io.Writer
	terminal func() (width, height int, ok bool)
	lines    int       // of the table that is to be drawn over
	drawn    time.Time // when it was drawn last
}

func (l *live) intro() error {
	return l.write("Real packets go from one network namespace of this demo to another. The first has %d sources, the\n"+
		"second limits them in the driver, and counts behind that, with a socket, what gets through.\n", len(cast()))
}

// begin writes what a phase is about, and the command that does the same.
func (l *live) begin(n int, p *phase) error {
	l.lines = 0
	if err := l.write("\n%d. %s\n", n, p.title); err != nil || p.command == "" {
		return err
	}
	return l.write(indent+"$ %s\n", p.command)
}

// tick draws the numbers where there is a terminal, and it is time.
func (l *live) tick(now time.Time, records []*record) error {
	if now.Sub(l.drawn) < redraw {
		return nil
	}
	width, height, ok := l.size()
	if !ok || height <= len(records)+1 {
		return nil
	}
	l.drawn = now
	return l.draw(records, width)
}

// end writes the numbers at the end of a phase.
func (l *live) end(records []*record) error {
	if width, _, ok := l.size(); ok {
		return l.draw(records, width)
	}
	text, err := table(records)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		if err := l.write(indent+"%s", line); err != nil {
			return err
		}
	}
	return nil
}

// draw is one write, and each line is cleared only behind its new text, so that nothing flickers.
func (l *live) draw(records []*record, width int) error {
	text, err := table(records)
	if err != nil {
		return err
	}
	var picture bytes.Buffer
	if l.lines > 0 {
		fmt.Fprintf(&picture, upLines, l.lines)
	} else {
		picture.WriteString(hideCursor)
	}
	l.lines = 0
	for line := range bytes.Lines(text) {
		picture.Write(clip(append([]byte(indent), bytes.TrimSuffix(line, []byte("\n"))...), width))
		picture.WriteString(clearLine + "\n")
		l.lines++
	}
	return l.write("%s", picture.Bytes())
}

// size returns the size of the terminal. One that does not know its own is none to draw on.
func (l *live) size() (width, height int, ok bool) {
	width, height, ok = l.terminal()
	return width, height, ok && width > 0
}

// close makes the terminal as it was.
func (l *live) close() error {
	if _, _, ok := l.size(); !ok {
		return nil
	}
	return l.write(showCursor)
}

func (l *live) write(format string, args ...any) error {
	if _, err := fmt.Fprintf(l.w, format, args...); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// picture is a table of what became of the packets so far.
type picture []*record

// Table writes a line for each source.
func (records picture) Table(p *render.Page) {
	var rows [][]string
	for _, r := range records {
		rows = append(rows, []string{r.name(), r.role, count(r.sent), count(r.through), count(r.sent - r.through)})
	}
	p.Grid([]render.Column{
		{Name: "SOURCE"}, {Name: "WHAT IT DOES"},
		{Name: "  SENT", Right: true}, {Name: "GOT THROUGH", Right: true}, {Name: "  LOST", Right: true},
	}, rows)
}

func table(records []*record) ([]byte, error) {
	var text bytes.Buffer
	err := render.Write(&text, render.Table, picture(records))
	return text.Bytes(), err
}

// clip cuts a line to a number of characters, so that it stays one.
func clip(line []byte, width int) []byte {
	for n, i := 0, 0; i < len(line); n++ {
		if n == width {
			return line[:i]
		}
		_, size := utf8.DecodeRune(line[i:])
		i += size
	}
	return line
}

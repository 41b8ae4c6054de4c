// Package stage is what the acts of the demo share: a place of their own in the kernel, of which
// nothing is left afterwards, and the text that shows what happens on it.
package stage

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

// Live shows the phases while they happen. On a terminal it draws the numbers over each other;
// elsewhere it writes them once, when a phase is over. It is for one goroutine.
type Live struct {
	w        io.Writer
	terminal func() (width, height int, ok bool)
	phases   int
	lines    int       // of the table that is to be drawn over
	drawn    time.Time // when it was drawn last
}

// NewLive returns a Live that writes to w. terminal returns the size of the terminal that w is, if it is one.
func NewLive(w io.Writer, terminal func() (width, height int, ok bool)) *Live {
	return &Live{w: w, terminal: terminal}
}

// Introduce writes what an act is about, between empty lines but for the first.
func (l *Live) Introduce(text string) error {
	if l.phases > 0 {
		text = "\n" + text
	}
	return l.write("%s\n", text)
}

// Begin writes what a phase is about. All phases are numbered, from one act to the next.
func (l *Live) Begin(title string) error {
	l.lines = 0
	l.phases++
	return l.write("\n%d. %s\n", l.phases, title)
}

// Command writes a command, and the lines of its output if it is not empty.
func (l *Live) Command(command string, output []byte) error {
	if err := l.write(indent+"$ %s\n", command); err != nil {
		return err
	}
	return l.Text(output)
}

// Text writes lines that belong to a phase.
func (l *Live) Text(text []byte) error {
	l.lines = 0
	for line := range bytes.Lines(text) {
		if err := l.write(indent+"%s\n", bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return err
		}
	}
	return nil
}

// Tick draws the numbers where there is a terminal with room for them, and it is time.
func (l *Live) Tick(now time.Time, numbers render.View) error {
	if now.Sub(l.drawn) < redraw {
		return nil
	}
	width, height, ok := l.size()
	if !ok {
		return nil
	}
	text, err := tableOf(numbers)
	if err != nil || height <= bytes.Count(text, []byte("\n")) {
		return err
	}
	l.drawn = now
	return l.draw(text, width)
}

// End writes the numbers at the end of a phase.
func (l *Live) End(numbers render.View) error {
	text, err := tableOf(numbers)
	if err != nil {
		return err
	}
	if width, _, ok := l.size(); ok {
		err = l.draw(text, width)
		l.lines = 0
		return err
	}
	return l.Text(text)
}

// draw is one write, and each line is cleared only behind its new text, so that nothing flickers.
func (l *Live) draw(text []byte, width int) error {
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
func (l *Live) size() (width, height int, ok bool) {
	width, height, ok = l.terminal()
	return width, height, ok && width > 0
}

// Close makes the terminal as it was.
func (l *Live) Close() error {
	if _, _, ok := l.size(); !ok {
		return nil
	}
	return l.write(showCursor)
}

func (l *Live) write(format string, args ...any) error {
	if _, err := fmt.Fprintf(l.w, format, args...); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

func tableOf(v render.View) ([]byte, error) {
	var text bytes.Buffer
	err := render.Write(&text, render.Table, v)
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

// Mark is what a line of a summary begins with, whether it is as it should be or not.
func Mark(ok bool) string {
	if ok {
		return "✓"
	}
	return "✗"
}

package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
)

// Control sequences of ECMA-48 and of xterm, which every terminal in use understands.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // alternate screen, cursor hidden
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	homeCursor  = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// screen draws pictures over each other, and leaves the terminal as it was.
type screen struct{ w io.Writer }

func (s screen) enter() error { return s.write([]byte(enterScreen)) }
func (s screen) leave() error { return s.write([]byte(leaveScreen)) }

// draw draws what fits of a view. It is one write, and each line is cleared only behind its new
// text, so that nothing flickers.
func (s screen) draw(v render.View, width, height int) error {
	var text bytes.Buffer
	if err := render.Write(&text, render.Table, v); err != nil {
		return err
	}
	lines := bytes.Split(bytes.TrimSuffix(text.Bytes(), []byte("\n")), []byte("\n"))
	lines = lines[:min(len(lines), max(height, 1))]

	picture := []byte(homeCursor)
	for i, line := range lines {
		if i > 0 {
			picture = append(picture, "\r\n"...)
		}
		picture = append(picture, clip(line, width)...)
		picture = append(picture, clearLine...)
	}
	return s.write(append(picture, clearBelow...))
}

// clip cuts a line to a number of characters.
func clip(line []byte, width int) []byte {
	n := 0
	for i := range string(line) {
		if n == width {
			return line[:i]
		}
		n++
	}
	return line
}

func (s screen) write(b []byte) error {
	if _, err := s.w.Write(b); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

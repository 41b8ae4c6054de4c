package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxLine is the longest line that is read, in bytes.
const MaxLine = 1 << 20

// readSize is how much is read at a time. What a worker parses at a time is no larger, but for a
// long line.
const readSize = 256 << 10

// chunk is whole lines, or a line that is too long and left out.
type chunk struct {
	text    string
	line    uint64 // number of the first
	tooLong bool
}

// cutter cuts what it reads into chunks.
type cutter struct {
	in   io.Reader
	from io.Reader // in, decompressed; nil before the first read
	buf  []byte    // begins with a line that is not yet whole
	line uint64    // its number
	skip bool      // it is too long: go on at the next
	err  error     // of from
}

// newCutter returns one that will read from r, which may be compressed. It does not read yet: that may block.
func newCutter(r io.Reader) *cutter { return &cutter{in: r, line: 1} }

// open begins to read.
func (c *cutter) open() error {
	in := bufio.NewReader(c.in)
	head, err := in.Peek(3)
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("decompress: %w", err)
		}
		c.from = z
		return nil
	case string(head) == "\ufeff":
		_, err = in.Discard(len(head))
	}
	c.from = in
	if errors.Is(err, io.EOF) {
		return nil // there is less than that
	}
	return err
}

// next returns the next chunk; io.EOF behind the last.
func (c *cutter) next() (chunk, error) {
	if c.from == nil {
		if err := c.open(); err != nil {
			return chunk{}, err
		}
	}
	for {
		if got, ok := c.cut(); ok {
			return got, nil
		}
		if c.err != nil {
			return c.rest()
		}
		c.fill()
	}
}

// fill reads more.
func (c *cutter) fill() {
	if free := cap(c.buf) - len(c.buf); free < readSize {
		c.buf = append(make([]byte, 0, len(c.buf)+2*readSize), c.buf...)
	}
	n, err := c.from.Read(c.buf[len(c.buf) : len(c.buf)+readSize])
	c.buf, c.err = c.buf[:len(c.buf)+n], err
}

// cut returns the whole lines of the buffer.
func (c *cutter) cut() (chunk, bool) {
	if c.skip {
		c.skipLine()
		return chunk{}, false
	}
	end := bytes.LastIndexByte(c.buf, '\n') + 1
	switch {
	case end > 0:
		got := chunk{text: string(c.buf[:end]), line: c.line}
		c.line += uint64(strings.Count(got.text, "\n"))
		c.buf = c.buf[:copy(c.buf, c.buf[end:])]
		return got, true
	case len(c.buf) > MaxLine+1: // with a \r that does not count
		c.skip = true
		return chunk{line: c.line, tooLong: true}, true
	}
	return chunk{}, false
}

// skipLine forgets what the buffer has of the line that it begins with.
func (c *cutter) skipLine() {
	end := bytes.IndexByte(c.buf, '\n') + 1
	if end == 0 {
		c.buf = c.buf[:0]
		return
	}
	c.buf = c.buf[:copy(c.buf, c.buf[end:])]
	c.skip, c.line = false, c.line+1
}

// rest returns the last line, which does not end with a newline, and then the error.
func (c *cutter) rest() (chunk, error) {
	if len(c.buf) > 0 && !c.skip {
		got := chunk{text: string(c.buf), line: c.line}
		c.buf = c.buf[:0]
		return got, nil
	}
	return chunk{}, c.err
}

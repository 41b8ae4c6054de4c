package e2e_test

import (
	"io"
	"os"
	"strings"
	"testing"

	buffer "github.com/headgate/headgate/test/transcript"
)

// transcript collects what a process writes, while it runs.
type transcript struct{ buffer.Buffer }

// await waits until the process has written a text.
func (s *transcript) await(tb testing.TB, text string) {
	tb.Helper()
	await(tb, "output of "+text, func() bool { return strings.Contains(s.String(), text) })
}

// openPipe makes a stream of a command one that can be waited on.
func openPipe(tb testing.TB, stream *io.Writer) (ready func(text string)) {
	s := &transcript{}
	*stream = s
	return func(text string) {
		tb.Helper()
		s.await(tb, text)
	}
}

// input gives a command something to read that the test holds open.
func (c *command) input() *os.File {
	c.lab.tb.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		c.lab.tb.Fatal(err)
	}
	c.Stdin = r
	c.lab.tb.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return w
}

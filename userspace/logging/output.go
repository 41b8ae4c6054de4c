package logging

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// sayAgain is how long stderr is spared after it was told of lost lines.
const sayAgain = time.Minute

// patience is how long who reads a pipe may take for a line; all that log wait as long.
const patience = 10 * time.Millisecond

// output is a file, or stderr.
type output struct {
	stderr io.Writer
	now    func() time.Time
	lost   atomic.Uint64

	untold atomic.Uint64 // lost, and not yet said in the log

	mu   sync.Mutex
	file *os.File // nil for stderr
	said time.Time
}

// open makes path the output, stderr if it is empty.
func (o *output) open(path string) error {
	var file *os.File
	if path != "" {
		var err error
		// Without O_NONBLOCK a pipe would wait for its reader.
		if file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NONBLOCK, 0o640); err != nil {
			return fmt.Errorf("open the log: %w", err)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil {
		o.file.Close()
	}
	o.file = file
	return nil
}

// Write implements io.Writer, for one line. It reports that the line was written in any case.
func (o *output) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.stderr
	if o.file != nil {
		w = o.file
		_ = o.file.SetWriteDeadline(o.now().Add(patience)) // of a pipe; others have none
	}
	if n, err := w.Write(line); err != nil {
		o.lose(w, n, err)
	}
	return len(line), nil
}

// lose notes that a line was lost, of which n bytes were written, so that the next one does not begin in its middle.
func (o *output) lose(w io.Writer, n int, err error) {
	if n > 0 {
		_, _ = io.WriteString(w, "\n")
	}
	o.lost.Add(1)
	o.untold.Add(1)
	if now := o.now(); o.file != nil && now.Sub(o.said) >= sayAgain {
		o.said = now
		fmt.Fprintf(o.stderr, "headgate: write %s: %v; lines of the log are lost until there is room\n", o.file.Name(), err)
	}
}

package main

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/headgate/headgate/userspace/replay"
	"github.com/headgate/headgate/userspace/ruleset"
)

// flushAt is how many bytes are written at a time.
const flushAt = 64 << 10

// replayedWriter writes a line for each request.
type replayedWriter struct {
	w   io.Writer
	buf []byte
}

func (w *replayedWriter) write(r *replay.Request, d *ruleset.Decision) error {
	line := replayed(r, d)
	w.buf = line.AppendJSON(w.buf)
	if len(w.buf) < flushAt {
		return nil
	}
	return w.flush()
}

func (w *replayedWriter) flush() error {
	if len(w.buf) == 0 {
		return nil // or what could not be written before would be told again
	}
	_, err := w.w.Write(w.buf)
	w.buf = w.buf[:0]
	if err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// recordingBar reads a recording and shows how far that is, in KiB.
type recordingBar struct {
	io.Reader
	progress
	read atomic.Int64 // recordings are read by another goroutine than the one that shows it
}

// recordingBar shows the reading of r if it is a file, and unless lines are printed to a terminal meanwhile.
func (e *env) recordingBar(r io.Reader, printing bool) *recordingBar {
	b := &recordingBar{Reader: r}
	file, isFile := r.(*os.File)
	if _, _, toTerminal := e.terminal(e.stdout); !isFile || printing && toTerminal {
		return b
	}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		b.progress = e.progress(int(info.Size()>>10), "replaying, KiB")
	}
	return b
}

// Read implements io.Reader.
func (b *recordingBar) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read.Add(int64(n))
	return n, err
}

// update shows what was read until now.
func (b *recordingBar) update() { b.set(int(b.read.Load() >> 10)) }

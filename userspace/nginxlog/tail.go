package nginxlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

const (
	// mostLine is how many bytes of a line are looked at: more than a record has.
	mostLine = 2 * longest
	// atOnce is how many bytes are read before others have their turn.
	atOnce = 1 << 20
)

// tail reads one file as it grows.
type tail struct {
	file *os.File
	info os.FileInfo
	at   int64  // where to read on
	line []byte // the beginning of a line whose end is not there yet
	long bool   // which is longer than is looked at; line has nothing
	from int64  // where it begins
	grew time.Time
	doubt
}

// open opens a regular file. Nothing else has an end to wait at.
func open(path string) (*tail, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file; have nginx write its error_log to one", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &tail{file: f, info: info}, nil
}

// skip goes to the end of what is there.
func (t *tail) skip() error {
	end, err := t.file.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return err
	}
	t.at, t.from = end, end
	var last [1]byte
	if _, err := t.file.ReadAt(last[:], end-1); err != nil || last[0] != '\n' {
		t.long = true // the rest of a line whose beginning is not known
	}
	return nil
}

// read reads what has come into chunk, piece by piece, and reports whether there is more.
func (t *tail) read(chunk []byte) (more bool, err error) {
	if err := t.rewind(); err != nil {
		return false, err
	}
	for read := 0; read < atOnce; {
		n, err := t.file.ReadAt(chunk, t.at)
		t.split(chunk[:n])
		read += n
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// rewind begins anew if the file was cut (copytruncate).
func (t *tail) rewind() error {
	info, err := t.file.Stat()
	if err != nil || info.Size() >= t.at {
		return err
	}
	t.at, t.from, t.line, t.long = 0, 0, t.line[:0], false
	t.restart()
	return nil
}

// split looks at the lines in what was read at t.at.
func (t *tail) split(piece []byte) {
	for len(piece) > 0 {
		i := bytes.IndexByte(piece, '\n')
		if i < 0 {
			t.at += int64(len(piece))
			t.keep(piece)
			return
		}
		t.at += int64(i) + 1
		t.end(piece[:i])
		piece = piece[i+1:]
	}
}

// keep keeps a part of a line, or forgets a line that is too long.
func (t *tail) keep(part []byte) {
	if t.long || len(t.line)+len(part) > mostLine {
		t.line, t.long = t.line[:0], true
		return
	}
	t.line = append(t.line, part...)
}

// end looks at a line of which the last part is there.
func (t *tail) end(part []byte) {
	line := part
	if t.long || len(t.line) > 0 {
		t.keep(part)
		line = t.line
	}
	if t.long || len(line) > mostLine {
		t.tainted = t.at + longest // whatever wrote it may go on
		t.drop()                   // and may have begun before
	} else {
		t.add(line, t.from, t.at)
	}
	t.line, t.long, t.from = t.line[:0], false, t.at
}

func (t *tail) close() { t.file.Close() }

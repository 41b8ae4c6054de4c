// Package watch tells when the content of files has changed, however it is done: written in
// place, replaced by a rename, or by the symbolic link of a directory, as Kubernetes does with what it mounts.
package watch

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// quiet is how long nothing must happen to a file before it is read: what is written in pieces
// should be there as a whole.
const quiet = 200 * time.Millisecond

// longest is how long a change is not looked at because something happens all the time.
const longest = 2 * time.Second

// poll is how often files are looked at where the kernel tells nothing of them, as on some network file systems, and pollGone
// where their directories are not there: when they are again nothing tells of that.
const (
	poll     = time.Minute
	pollGone = time.Second
)

// Sum is the SHA-256 of all files together; of one that cannot be read, of the reason.
type Sum [sha256.Size]byte

// Of returns the Sum of files, in this order.
func Of(files []string) (sum Sum) {
	h := sha256.New()
	for _, name := range files {
		_, _ = io.WriteString(h, name)
		if err := add(h, name); err != nil {
			_, _ = io.WriteString(h, err.Error())
		}
		h.Write([]byte{0})
	}
	h.Sum(sum[:0])
	return sum
}

func add(w io.Writer, name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fs.ErrInvalid // to open a pipe would wait for its writer
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// Files calls changed each time that the content of the files is another one than before, known at first, until
// ctx ends. files is called before each look, since one file may name others. changed is called by the same goroutine. What n
// does not tell of, or all if it is nil, is seen within a minute.
func Files(ctx context.Context, n *Notices, known Sum, files func() []string, changed func()) {
	f := &follower{notices: n, files: files, changed: changed, last: known}
	f.look()
	timer := time.NewTimer(f.poll())
	defer timer.Stop()
	var since time.Time // of the first event that was not looked at
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			f.look()
			since = time.Time{}
			timer.Reset(f.poll())
			continue
		case <-n.C():
		}
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) < longest { // others may write into the directory all the time
			timer.Reset(quiet)
		}
	}
}

// follower knows what the files were when it last looked.
type follower struct {
	notices *Notices
	files   func() []string
	changed func()
	names   []string
	last    Sum
	gone    bool // a directory is not there
}

// poll returns when to look again if nothing is told.
func (f *follower) poll() time.Duration {
	if f.gone {
		return pollGone
	}
	return poll
}

func (f *follower) look() {
	sum := f.sum()
	if sum == f.last {
		return
	}
	f.last = sum // of before they are read: what is written meanwhile is seen at the next look
	f.changed()
	if before := f.names; !slices.Equal(f.files(), before) {
		f.last = f.sum()
	}
}

// sum returns the sum of the files that there are now, and watches where they are.
func (f *follower) sum() Sum {
	f.names, f.gone = f.files(), false
	for _, dir := range directories(f.names) {
		f.gone = errors.Is(f.notices.Add(dir), fs.ErrNotExist) || f.gone
	}
	return Of(f.names)
}

// directories returns the directories in which something may happen to the content of files: those
// of the names, and of what they are links to.
func directories(files []string) (all []string) {
	for _, name := range files {
		all = append(all, filepath.Dir(name))
		if target, err := filepath.EvalSymlinks(name); err == nil && target != name {
			all = append(all, filepath.Dir(target))
		}
	}
	return all
}

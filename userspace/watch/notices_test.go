package watch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The library says that a directory is gone while it holds what Add waits for.
func TestDirectoriesGo(t *testing.T) {
	n, err := NewNotices()
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	dir := t.TempDir()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 300 {
			from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
			if err := os.Mkdir(from, 0o700); err != nil {
				t.Error(err)
			}
			_ = n.Add(from)
			if err := errors.Join(os.Rename(from, to), os.Remove(to)); err != nil {
				t.Error(err)
			}
			_ = n.Add(dir)
			n.Remove(dir)
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("nobody hears what the library says")
	}
	select {
	case <-n.C():
	case <-time.After(time.Minute):
		t.Error("nothing was told")
	}
}

func TestNoNotices(t *testing.T) {
	var n *Notices
	if err := n.Add(t.TempDir()); err != nil {
		t.Error(err)
	}
	n.Remove("none")
	n.Close()
	select {
	case <-n.C():
		t.Error("it says something")
	default:
	}
}

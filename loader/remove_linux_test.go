package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/test/need"
)

// TestRemoveDir removes what is headgate's, and no more.
func TestRemoveDir(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"v1/links", "v0/links", "tmp-7/links", "cilium", "backup"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"v1/buckets", "v1/links/3", "notes"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeDir(dir); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names(t, dir), " "); got != "backup cilium notes" {
		t.Errorf("left: %s", got)
	}
	for _, foreign := range []string{"backup", "cilium", "notes"} {
		if err := os.Remove(filepath.Join(dir, foreign)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time there is nothing
		if err := removeDir(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("stat: %v", err)
		}
	}
}

// TestRemoveDirCutShort has a removal fail half way, where a kill could end it too: what is left is
// no instance for anybody, and the next removal takes it away.
func TestRemoveDirCutShort(t *testing.T) {
	need.Root(t)
	dir := t.TempDir()
	stuck := filepath.Join(dir, layoutVersion, "stuck")
	for _, d := range []string{stuck, filepath.Join(dir, leftover(layoutVersion), "links")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	moved := filepath.Join(dir, leftover(layoutVersion), "stuck")
	// What a file system is mounted on cannot be removed.
	if err := unix.Mount("tmpfs", stuck, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // where the test ends early
		_ = unix.Unmount(stuck, 0)
		_ = unix.Unmount(moved, 0)
	})
	if err := removeDir(dir); !errors.Is(err, unix.EBUSY) {
		t.Errorf("error %v, want %v", err, unix.EBUSY)
	}
	if err := unix.Unmount(moved, 0); err != nil {
		t.Fatal(err)
	}
	if err := checkVersion(dir); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("half removed: %v, want %v", err, ErrNotLoaded)
	}
	if err := removeDir(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
}

// leftover is what removeDir calls a layout while it removes it.
func leftover(layout string) string { return fmt.Sprintf("tmp-%d-%s", os.Getpid(), layout) }

// TestInterruptedRemove has a detach killed when half of the pins were gone: there is no instance
// to open, and the next attach makes one.
func TestInterruptedRemove(t *testing.T) {
	o := small(t)
	create(t, o).Close()
	left := filepath.Join(o.Dir, "tmp-4711-v1")
	for _, err := range []error{
		unpinLinks(filepath.Join(o.Dir, layoutVersion, linksDir)),
		os.Rename(filepath.Join(o.Dir, layoutVersion), left),
		os.Remove(filepath.Join(left, bpf.MapBuckets)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := OpenToRead(o); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("OpenToRead: %v, want %v", err, ErrNotLoaded)
	}
	create(t, o)
	if got := strings.Join(names(t, o.Dir), " "); got != layoutVersion {
		t.Errorf("the directory has %s", got)
	}
}

// TestRemovedWhileOpened has a detach take the pins away while a reader opens them: to the reader
// there is no instance, not a broken one.
func TestRemovedWhileOpened(t *testing.T) {
	o := small(t)
	i := create(t, o)
	if err := os.Remove(filepath.Join(i.dir, bpf.MapBuckets)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenToRead(o); !errors.Is(err, ErrIncompatible) {
		t.Errorf("a pin is missing: %v, want %v", err, ErrIncompatible)
	}
	if err := i.RemoveAll(); err != nil {
		t.Fatal(err)
	}
	spec, err := bpf.Load()
	if err != nil {
		t.Fatal(err)
	}
	if err := i.openMap(bpf.MapBuckets, spec.Maps[bpf.MapBuckets]); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("all pins are: %v, want %v", err, ErrNotLoaded)
	}
}

package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/need"
)

func TestIsLayout(t *testing.T) {
	for name, want := range map[string]bool{
		"v1": true, "v0": true, "v12": true, "v": false, "v1a": false, "1": false, "version": false, "tmp-1": false,
	} {
		if got := isLayout(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	tests := []struct {
		name string
		dirs []string
		want error
	}{
		{"nothing", nil, ErrNotLoaded},
		{"this one", []string{"v1"}, nil},
		{"this one and another", []string{"v0", "v1"}, nil},
		{"another", []string{"v0"}, ErrOtherVersion},
		{"a later one", []string{"v2"}, ErrOtherVersion},
		{"interrupted", []string{"tmp-123"}, ErrNotLoaded},
		{"another, interrupted", []string{"tmp-123", "v0"}, ErrOtherVersion},
		{"foreign", []string{"cilium"}, ErrNotLoaded},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		for _, d := range tt.dirs {
			if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := checkVersion(dir); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if err := checkVersion("/nonexistent/hg"); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("no directory: %v, want %v", err, ErrNotLoaded)
	}
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestInterruptedLoad leaves what a kill between the pins and the rename leaves.
func TestInterruptedLoad(t *testing.T) {
	o := small(t)
	i := create(t, o)
	i.Close()
	left := filepath.Join(o.Dir, "tmp-4711")
	if err := os.Rename(filepath.Join(o.Dir, layoutVersion), left); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(o); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("Open: %v, want %v", err, ErrNotLoaded)
	}
	i, created, err := Create(o)
	if err != nil || !created {
		t.Fatalf("Create: created %t, %v", created, err)
	}
	defer i.Close()
	if got := strings.Join(names(t, o.Dir), " "); got != layoutVersion {
		t.Errorf("the directory has %s", got)
	}
	if err := i.RemoveAll(); err != nil {
		t.Error(err)
	}
}

// TestInterruptedLoadIsRemoved takes away what a start left without another start.
func TestInterruptedLoadIsRemoved(t *testing.T) {
	o := small(t)
	if err := os.MkdirAll(filepath.Join(o.Dir, "tmp-4711", linksDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Remove(o); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(o.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
	if err := Remove(o); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("Remove: %v, want %v", err, ErrNotLoaded)
	}
}

// TestEnsureBPFFS works in a mount namespace of its own, on a thread that ends with the test.
func TestEnsureBPFFS(t *testing.T) {
	need.Root(t)
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread is spoiled
		done <- ensureTwice()
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func ensureTwice() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for unix.Unmount(standardMount, unix.MNT_DETACH) == nil {
		// one may lie over another
	}
	var notices []string
	notice := func(s string) { notices = append(notices, s) }
	for range 2 { // the second time it is mounted
		if err := ensureBPFFS(filepath.Join(standardMount, "a", "b"), notice); err != nil {
			return err
		}
	}
	if len(notices) != 1 || notices[0] != "mounted the bpf file system on "+standardMount {
		return fmt.Errorf("notices %q", notices)
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(standardMount, &stat); err != nil {
		return err
	}
	if stat.Type != unix.BPF_FS_MAGIC {
		return fmt.Errorf("file system %x", stat.Type)
	}
	return unix.Unmount(standardMount, 0)
}

func TestEnsureBPFFSElsewhere(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Join(dir, "a", "b"), standardMount + "-not"} {
		err := ensureBPFFS(d, func(s string) { t.Errorf("notice %q", s) })
		if err == nil || !strings.Contains(err.Error(), "is not on a bpf file system; mount one there") {
			t.Errorf("%s: %v", d, err)
		}
	}
}

package loader

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLock needs no bpf file system: a lock is on a directory.
func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "hg")
	held, err := makeAndLock(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, wait := range []time.Duration{0, 3 * lockPoll} {
		_, err := makeAndLock(dir, wait)
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "wait longer with --lock-wait") {
			t.Errorf("wait %s: error %v, want %v", wait, err, ErrLocked)
		}
	}
	held.Close()
	again, err := makeAndLock(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// TestLockOfRemovedDirectory has the directory removed, and made again, while a command waits: it
// gets the lock of the new one, not of the one that nobody sees.
func TestLockOfRemovedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hg")
	held, err := makeAndLock(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error)
	var got *os.File
	go func() {
		var err error
		got, err = makeAndLock(dir, time.Minute)
		waiting <- err
	}()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	held.Close()
	if err := <-waiting; err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if !sameFile(got, dir) {
		t.Error("the lock is on a directory that is gone")
	}
	if _, err := makeAndLock(dir, 0); !errors.Is(err, ErrLocked) {
		t.Errorf("error %v, want %v", err, ErrLocked)
	}
}

// TestLockOfRemovedInstance has a detach remove what a command waits for: there is nothing to lock
// any more, and nothing is made again.
func TestLockOfRemovedInstance(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hg")
	held, err := makeAndLock(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error)
	go func() {
		_, err := lockDir(dir, time.Minute)
		waiting <- err
	}()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	held.Close()
	if err := <-waiting; !errors.Is(err, ErrNotLoaded) {
		t.Errorf("error %v, want %v", err, ErrNotLoaded)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
}

func TestLockErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := makeAndLock(filepath.Join(file, "hg"), 0); err == nil {
		t.Error("no error for a directory below a file")
	}
}

// TestInstanceLock has who changes something keep others out, but not who reads.
func TestInstanceLock(t *testing.T) {
	o := small(t)
	i := create(t, o)
	if _, err := Open(o); !errors.Is(err, ErrLocked) {
		t.Errorf("Open: %v, want %v", err, ErrLocked)
	}
	if _, _, err := Create(o); !errors.Is(err, ErrLocked) {
		t.Errorf("Create: %v, want %v", err, ErrLocked)
	}
	if err := Remove(o); !errors.Is(err, ErrLocked) {
		t.Errorf("Remove: %v, want %v", err, ErrLocked)
	}
	reader, err := OpenToRead(o)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()

	events, err := reader.Events()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Events(); !errors.Is(err, ErrLocked) {
		t.Errorf("Events: %v, want %v", err, ErrLocked)
	}
	events.Close()
	if events, err = i.Events(); err != nil {
		t.Fatal(err)
	}
	events.Close()
	i.Close()
	awaitFree(t, o)
}

package watch_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/watch"
)

// watched follows files in a goroutine; each change is received from the channel.
func watched(t *testing.T, names ...string) <-chan struct{} {
	t.Helper()
	known := watch.Of(names)
	changes := make(chan struct{}, 16)
	notices, err := watch.NewNotices()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var files sync.WaitGroup
	files.Go(func() {
		watch.Files(ctx, notices, known, func() []string { return names }, func() { changes <- struct{}{} })
	})
	t.Cleanup(func() {
		stop()
		files.Wait()
		notices.Close()
	})
	return changes
}

// await waits for a change. The time is only for a test that fails.
func await(t *testing.T, changes <-chan struct{}) {
	t.Helper()
	select {
	case <-changes:
	case <-time.After(30 * time.Second):
		t.Fatal("the change was not seen")
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

func TestWrittenInPlace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.yaml")
	write(t, name, "1")
	changes := watched(t, name)
	write(t, name, "2")
	await(t, changes)
}

func TestRenamedOver(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.yaml")
	write(t, name, "1")
	changes := watched(t, name)
	for _, text := range []string{"2", "3"} { // the second time it is another inode that is watched
		write(t, name+".new", text)
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
		await(t, changes)
	}
}

func TestKubernetesSwapsALink(t *testing.T) {
	dir := t.TempDir()
	for _, version := range []string{"..1", "..2", "..3"} {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, version, "a.yaml"), version)
	}
	link(t, "..1", filepath.Join(dir, "..data"))
	name := filepath.Join(dir, "a.yaml")
	link(t, "..data/a.yaml", name)
	changes := watched(t, name)
	for _, version := range []string{"..2", "..3"} {
		link(t, version, filepath.Join(dir, "..data"))
		await(t, changes)
	}
}

func TestLinkToAFileElsewhere(t *testing.T) {
	target := filepath.Join(t.TempDir(), "real.yaml")
	write(t, target, "1")
	name := filepath.Join(t.TempDir(), "a.yaml")
	link(t, target, name)
	changes := watched(t, name)
	write(t, target, "2")
	await(t, changes)
}

func TestTheSameContentIsNoChange(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.yaml")
	write(t, name, "1")
	changes := watched(t, name)
	write(t, name, "1")
	write(t, filepath.Join(dir, "other"), "x")
	write(t, name, "2")
	await(t, changes)
	if len(changes) != 0 {
		t.Error("there was more than one change")
	}
}

func TestChangedBeforeItIsWatched(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.yaml")
	write(t, name, "1")
	known := watch.Of([]string{name})
	write(t, name, "2")
	changes := make(chan struct{}, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go watch.Files(ctx, nil, known, func() []string { return []string{name} }, func() { changes <- struct{}{} })
	await(t, changes)
}

func TestPipeIsNotWaitedFor(t *testing.T) {
	if a, b := watch.Of([]string{"/dev/zero"}), watch.Of([]string{"/nowhere"}); a == b {
		t.Error("two reasons have one sum")
	}
}

// Where the kernel tells nothing, files are looked at once a minute.
func TestWithoutNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "a.yaml")
		write(t, name, "1")
		names, changes := []string{name}, 0
		ctx, stop := context.WithCancel(t.Context())
		known := watch.Of(names)
		go watch.Files(ctx, nil, known, func() []string { return names }, func() { changes++ })
		for _, text := range []string{"2", "3"} {
			before := changes
			write(t, name, text)
			time.Sleep(time.Minute)
			synctest.Wait()
			if changes != before+1 {
				t.Errorf("told %d times of %q", changes-before, text)
			}
		}
		stop()
	})
}

// A directory that was renamed and is back is watched again, within a second.
func TestDirectoryIsBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etc")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "a.yaml")
	write(t, name, "1")
	changes := watched(t, name)
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	rename(dir, dir+".away")
	await(t, changes)
	rename(dir+".away", dir)
	await(t, changes)
	write(t, name, "2")
	await(t, changes)
}

package e2e_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/headgate/headgate/test/leak"
)

// leakLimit is how long the kernel may take to free what nothing refers to any more, and a watch
// over a trial to see that it is over.
const leakLimit = 30 * time.Second

// leaks returns an error that names what outlives the tests: files that are open, threads in other
// namespaces, processes of the binary, mounts, temporary files, and objects of the kernel.
func leaks(root, binary string, before leak.Open) error {
	checks := []func() error{
		before.More,
		leakedThreads,
		func() error { return leakedProcesses(binary) },
		func() error { return leakedMounts(root) },
		func() error { return leakedTemp(root) },
		leakedObjects,
	}
	deadline := time.Now().Add(leakLimit)
	for {
		var errs []error
		for _, check := range checks {
			errs = append(errs, check())
		}
		if err := errors.Join(errs...); err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pollInterval)
	}
}

func leakedThreads() error {
	home, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return err
	}
	threads, err := filepath.Glob("/proc/self/task/*/ns/net")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		if ns, err := os.Readlink(thread); err == nil && ns != home {
			return fmt.Errorf("leak: %s is in the namespace %s, not %s", thread, ns, home)
		}
	}
	return nil
}

func leakedProcesses(binary string) error {
	if left := processes(binary, ""); len(left) > 0 {
		return fmt.Errorf("leak: processes %v of the binary still run", left)
	}
	return nil
}

// processes returns those that run the binary with an argument, or with any where it is "".
func processes(binary, argument string) (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, exe := range links {
		if target, err := os.Readlink(exe); err != nil || target != binary {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(exe), "cmdline"))
		args := strings.Split(string(line), "\x00")
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(exe))); err == nil &&
			(argument == "" || slices.Contains(args, argument)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func leakedMounts(root string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, root) {
			return fmt.Errorf("leak: mount %s", strings.TrimSpace(line))
		}
	}
	return nil
}

func leakedTemp(root string) error {
	return filepath.WalkDir(filepath.Join(root, "tmp"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			return fmt.Errorf("leak: %s", path)
		}
		return err
	})
}

// seenFile records the kernel objects that instances of these tests consisted of. Those of other
// packages' tests, which run at the same time, are not among them.
func seenFile() string {
	return filepath.Join(filepath.Dir(os.Getenv(binaryVariable)), "objects")
}

// remember notes the objects of the instance in a directory, for leakedObjects.
func (l *lab) remember() {
	l.tb.Helper()
	var lines []string
	err := filepath.WalkDir(filepath.Join(l.pin, "v1"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		lines = append(lines, objectAt(path))
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		l.tb.Error(err)
	}
	f, err := os.OpenFile(seenFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		l.tb.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		l.tb.Error(err)
	}
}

// objectAt returns kind and number of what is pinned at a path; "" where it is gone by now.
func objectAt(path string) string {
	if m, err := ebpf.LoadPinnedMap(path, nil); err == nil {
		defer m.Close()
		if info, err := m.Info(); err == nil {
			id, _ := info.ID()
			return fmt.Sprint("map ", id)
		}
	}
	if p, err := ebpf.LoadPinnedProgram(path, nil); err == nil {
		defer p.Close()
		if info, err := p.Info(); err == nil {
			id, _ := info.ID()
			return fmt.Sprint("program ", id)
		}
	}
	if k, err := link.LoadPinnedLink(path, nil); err == nil {
		defer k.Close()
		if info, err := k.Info(); err == nil {
			return fmt.Sprint("link ", info.ID)
		}
	}
	return ""
}

func leakedObjects() error {
	seen, err := os.ReadFile(seenFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	unique := map[string]bool{}
	for line := range strings.Lines(string(seen)) {
		unique[strings.TrimSpace(line)] = true
	}
	var alive []string
	for object := range maps.Keys(unique) {
		if isAlive(object) {
			alive = append(alive, object)
		}
	}
	if len(alive) > 0 {
		return fmt.Errorf("leak: of %d kernel objects, these are still there: %v", len(unique), slices.Sorted(slices.Values(alive)))
	}
	return nil
}

func isAlive(object string) bool {
	kind, number, _ := strings.Cut(object, " ")
	id, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return false
	}
	var found interface{ Close() error }
	switch kind {
	case "map":
		found, err = ebpf.NewMapFromID(ebpf.MapID(id))
	case "program":
		found, err = ebpf.NewProgramFromID(ebpf.ProgramID(id))
	default:
		found, err = link.NewFromID(link.ID(id))
	}
	if err != nil {
		return false
	}
	found.Close()
	return true
}

// TestLeaksAreSeen checks the checks: an open file, a process' directory and a live object.
func TestLeaksAreSeen(t *testing.T) {
	l := newLab(t)
	before := leak.Now()
	l.must("attach", l.dev(), "--max-sources", "4096")
	m, err := ebpf.LoadPinnedMap(filepath.Join(l.pin, "v1", "globals"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if before.More() == nil {
		t.Error("an open map is not seen")
	}
	if leakedObjects() == nil {
		t.Error("a live instance is not seen")
	}
	if leakedMounts(filepath.Dir(l.pin)) == nil {
		t.Error("a mount is not seen")
	}
	m.Close()
	if err := before.More(); err != nil {
		t.Error(err)
	}
}

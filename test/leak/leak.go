//go:build linux

// Package leak finds files that a test left open.
package leak

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	// closing is how long a file may take to close after it was let go: a goroutine that blocks in a
	// read holds it until it has woken, and the finalizer of a dropped one runs in the background.
	closing  = 30 * time.Second
	interval = 10 * time.Millisecond
)

// Open counts the files that a process has open, by kind.
type Open map[string]int

// Now counts the open files of this process. Those of the Go runtime (epoll, eventfd) come with the
// first use of the network and stay; they are none of ours.
func Now() Open {
	open := Open{}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || strings.Contains(target, "[event") || strings.HasSuffix(target, "/fd") {
			continue
		}
		kind, _, _ := strings.Cut(target, ":[")
		open[kind]++
	}
	return open
}

// More returns an error that names a kind of which more files are open now than in before. Fewer are
// no leak: before may have counted one that was about to close.
func (before Open) More() error {
	for kind, n := range Now() {
		if n > before[kind] {
			return fmt.Errorf("leak: %d files %q are open, before %d", n, kind, before[kind])
		}
	}
	return nil
}

// Check fails the test if, when it ends, more files are open than now.
func Check(t testing.TB) {
	t.Helper()
	before := Now()
	t.Cleanup(func() {
		t.Helper()
		err := before.More()
		for deadline := time.Now().Add(closing); err != nil && time.Now().Before(deadline); err = before.More() {
			time.Sleep(interval)
		}
		if err != nil {
			t.Error(err)
		}
	})
}

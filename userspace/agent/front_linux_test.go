package agent_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/headgate/headgate/test/need"
)

// The group and mode of a socket are the file's after each reload, though it stays open; one that only others have changed stays theirs.
func TestSocketAccessChanges(t *testing.T) {
	need.Root(t)
	text := func(access, more string) string {
		return "auth: {listen: [{address: \"unix:DIR/auth.sock\"" + access + "}]}\n" + more
	}
	l := newLab(t, text(", group: \"65534\"", ""))
	l.start()
	want := func(mode os.FileMode, group uint32) {
		t.Helper()
		info, err := os.Stat(l.path("auth.sock"))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Sys().(*syscall.Stat_t).Gid; info.Mode().Perm() != mode || got != group {
			t.Errorf("mode %v, group %d, want %v, %d", info.Mode().Perm(), got, mode, group)
		}
	}
	want(0o660, 65534)
	l.reload(text(", mode: 0666", ""))
	want(0o666, uint32(os.Getegid()))
	l.write(text(", group: no-such-group", ""))
	if err := l.agent.Reload(); err == nil || !strings.Contains(err.Error(), "no group no-such-group") {
		t.Errorf("reload: %v", err)
	}
	want(0o666, uint32(os.Getegid()))
	if err := os.Chown(l.path("auth.sock"), -1, 65534); err != nil {
		t.Fatal(err)
	}
	l.reload(text(", mode: 0666", "timeouts: {idle: 5s}\n"))
	want(0o666, 65534)
}

// The status tells how many requests have come to each listener, so that a gateway that never asks is seen.
func TestStatusCountsRequests(t *testing.T) {
	l := newLab(t, "metrics: {listen: \"unix:DIR/metrics.sock\"}\nauth: {listen: [\"unix:DIR/auth.sock\"]}\n")
	l.start()
	for range 3 {
		l.get("metrics.sock", "/healthz")
	}
	var got []string
	for _, listener := range l.agent.Status().Listeners {
		got = append(got, fmt.Sprint(listener.Serves, " ", listener.Requests))
	}
	if want := []string{"auth 0", "metrics 3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

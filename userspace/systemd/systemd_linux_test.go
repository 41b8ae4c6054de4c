package systemd

import (
	"context"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// listen makes the test's process a service whose states it returns.
func listen(t *testing.T) func() string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return func() string {
		t.Helper()
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		text := make([]byte, 4096)
		n, err := conn.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(text[:n])
	}
}

// States are those of sd_notify(3).
func TestStates(t *testing.T) {
	next := listen(t)
	for want, tell := range map[string]func(){
		"READY=1\nSTATUS=2 listeners":                  func() { Ready("2 listeners") },
		`RELOADING=1` + "\n" + `MONOTONIC_USEC=\d{4,}`: Reloading,
		"STOPPING=1": Stopping,
	} {
		tell()
		if got := next(); !regexp.MustCompile("^" + want + "$").MatchString(got) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The watchdog is told as long as all is well, at once and then at half of its interval.
func TestWatch(t *testing.T) {
	next := listen(t)
	t.Setenv("WATCHDOG_USEC", strconv.FormatInt(time.Minute.Microseconds(), 10))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		asked := 0
		Watch(ctx, func() bool { asked++; return asked != 2 })
		if asked != 4 {
			t.Errorf("asked %d times, want 4: at 0, 30, 60 and 90 s", asked)
		}
	})
	for range 3 {
		if got := next(); got != "WATCHDOG=1" {
			t.Errorf("%q", got)
		}
	}
	Stopping()
	if got := next(); got != "STOPPING=1" {
		t.Errorf("%q, though not all was well", got)
	}
}

// Without systemd nothing is waited for.
func TestNoSystemd(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	Ready("")
	Watch(t.Context(), func() bool { t.Error("asked"); return true })
}

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Ten thousand clients from as many addresses each begin a request and go no further. The agent, which may open fewer
// files than that, keeps answering a good client, its memory and files are bounded, and in the end all are closed.
func TestAgentSlowClients(t *testing.T) {
	const clients, files = 10_000, 8192
	allowFiles(t, clients+2000) // the other ends are here
	s := newSite(t)
	s.startBackend(nil)
	s.configure(unlimited + "timeouts: {header: 3s}\n")
	a := s.agent()
	a.wrapped(wrapFiles)
	a.start()
	a.awaitInForce()
	good := s.local(webPort)
	conns := make([]net.Conn, clients)
	for n := range conns {
		conns[n] = s.slowClient(n)
		if n%500 == 0 {
			if r := good.get("/"); r.status != http.StatusOK {
				t.Fatalf("among %d slow clients a good one gets %d", n, r.status)
			}
		}
	}
	if r := s.browser(modest).get("/"); r.status != http.StatusOK {
		t.Errorf("another good client gets %d", r.status)
	}
	open, resident := a.openFiles(), a.resident()
	t.Logf("%d open files, %d MiB", open, resident>>20)
	if open > files || resident > 256<<20 {
		t.Errorf("%d open files, %d MiB; want at most %d and 256 MiB", open, resident>>20, files)
	}
	a.awaitLine("too many connections")
	if n := len(a.lines("too many connections")); n > 10 { // at most one a second
		t.Errorf("%d lines tell of it", n)
	}
	for n, conn := range conns {
		if err := ended(conn); err != nil {
			t.Fatalf("slow client %d: %v", n, err)
		}
	}
	good.CloseIdleConnections()
	await(t, "all connections being closed", func() bool { return a.openFiles() < 100 })
	a.wantLines(0, "level=ERROR")
}

// slowClient begins a request from an address of its own.
func (s *site) slowClient(n int) net.Conn {
	s.tb.Helper()
	conn, err := dial(context.Background(), s.pair.Far.Namespace, fmt.Sprintf("127.%d.%d.2", 1+n>>8, n&255), "127.0.0.1:"+webPort)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { conn.Close() })
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ") // it may be closed by now
	return conn
}

// ended waits for the other end to close a connection, also with an answer before.
func ended(conn net.Conn) error {
	if err := conn.SetReadDeadline(time.Now().Add(pollLimit)); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, conn); os.IsTimeout(err) {
		return err
	}
	return nil
}

// openFiles returns how many files the agent has open.
func (a *agent) openFiles() int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", a.Process.Pid))
	return len(files)
}

// resident returns how much memory the agent had at most, in bytes.
func (a *agent) resident() int {
	a.site.tb.Helper()
	kib, err := strconv.Atoi(strings.TrimSuffix(a.procStatus(a.Process.Pid)["VmHWM"], " kB"))
	if err != nil {
		a.site.tb.Fatal(err)
	}
	return kib << 10
}

// procStatus returns what the kernel tells of a thread of the agent.
func (a *agent) procStatus(thread int) map[string]string {
	a.site.tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", a.Process.Pid, thread))
	if err != nil {
		return nil // it has ended
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		all[name] = strings.TrimSpace(value)
	}
	return all
}

// allowFiles lets this process open so many files.
func allowFiles(tb testing.TB, n uint64) {
	tb.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		tb.Fatal(err)
	}
	if limit.Cur >= n {
		return
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: max(n, limit.Max)}); err != nil {
		tb.Fatalf("open %d files: %v", n, err)
	}
}

// limitFiles bounds how many files this process may open.
func limitFiles(n uint64) error {
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n})
}

package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// The soft limit of files that a process is started with does not bind it.
func TestFilesAreTheHardLimit(t *testing.T) {
	if os.Getenv("HEADGATE_TEST_FILES") != "" {
		var files syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
			t.Fatal(err)
		}
		if files.Max != 700 || Files() < 699 { // Go leaves one
			t.Errorf("%d files of %d", Files(), files.Max)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -Sn 100 && ulimit -Hn 700 && exec "$0" -test.run='^TestFilesAreTheHardLimit$' -test.v`, self)
	cmd.Env = append(os.Environ(), "HEADGATE_TEST_FILES=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v: %s", err, out)
	}
}

// noFiles is the error of a connection that this process has no more file for.
func noFiles() error {
	return unreachable{&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}}
}

// A server that could not be connected to since this process is out of files is not left out, and has not failed, by a request or a check.
func TestOwnFaultIsNotTheServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServers{answer: map[string]func(*http.Request) (*http.Response, error){"a": failing(noFiles())}}
		u := upstream(servers(t, "a")...)
		u.Health = config.Health{Path: "/", Failures: 1, Successes: 1, Interval: time.Second, Timeout: time.Second}
		p := newTestProxy(t, u, ProxyOptions{Transport: f, Changed: func(s string, ok bool) { t.Errorf("%s became %t", s, ok) }})
		ctx, stop := context.WithCancel(t.Context())
		wait := background(func() { p.Run(ctx) })
		for range 5 {
			if g := answer(p, sent("GET", "")); g.status != http.StatusServiceUnavailable {
				t.Errorf("status %d", g.status)
			}
			time.Sleep(time.Second)
		}
		if s := p.Servers()[0]; !s.Healthy || s.Failures != 0 {
			t.Errorf("%+v", s)
		}
		stop()
		wait()
	})
}

func TestOwnFaults(t *testing.T) {
	for err, want := range map[error]bool{
		noFiles(): true,
		unreachable{&net.OpError{Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}}: true,
		unreachable{&net.OpError{Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}:  false,
		errors.New("other"): false,
	} {
		if got := isOwnFault(err); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
}

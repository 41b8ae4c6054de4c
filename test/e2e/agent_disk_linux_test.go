package e2e_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// mountSmall mounts a file system with room for so many bytes in the site's directory.
func (s *site) mountSmall(name, size string) {
	s.tb.Helper()
	if err := os.Mkdir(s.path(name), 0o755); err != nil {
		s.tb.Fatal(err)
	}
	if err := unix.Mount("tmpfs", s.path(name), "tmpfs", 0, "size="+size); err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() {
		if err := unix.Unmount(s.path(name), unix.MNT_DETACH); err != nil {
			s.tb.Error(err)
		}
	})
}

// fill writes a file until there is no room for another byte.
func (s *site) fill(name string) {
	s.tb.Helper()
	f, err := os.Create(s.path(name))
	if err != nil {
		s.tb.Fatal(err)
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); errors.Is(err, unix.ENOSPC) {
			return
		} else if err != nil {
			s.tb.Fatal(err)
		}
	}
}

func (s *site) read(name string) string {
	s.tb.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		s.tb.Fatal(err)
	}
	return string(text)
}

// While the disk of the log is full all goes on, stderr is told once, and what was lost is counted when there is room.
func TestAgentDiskFull(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	s.mountSmall("log", "64k")
	a := s.agent()
	s.configure(strict + "log: {file: DIR/log/headgate.log}\n")
	a.start()
	await(t, "the start", func() bool {
		text, _ := os.ReadFile(s.path("log/headgate.log"))
		return strings.Contains(string(text), "the configuration is in force")
	})
	s.fill("log/full")
	for n := range 100 { // some of them may find room at the end of the log's last page
		s.must("report", "203.0.113."+itoa(n+20), "--count", "3")
		if strings.Contains(a.log.String(), "no space left on device") {
			break
		}
	}
	s.browser(modest).wantStatuses(3, 1)
	s.must("report", flooder, "--count", "3")
	s.wantPassed(flooder, 20, 0)
	a.signal(syscall.SIGHUP)
	s.must("reload")
	a.wantLines(1, "headgate.log: no space left on device", "until there is room")
	if err := os.Remove(s.path("log/full")); err != nil {
		t.Fatal(err)
	}
	s.must("reload")
	text := s.read("log/headgate.log")
	lost, after, found := strings.Cut(text, "lines of this log were lost")
	if !found || !strings.Contains(after, "the configuration is in force") || strings.Contains(lost, "\x00") {
		t.Errorf("the log is\n%s", text)
	}
	if code := a.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// A log that is rotated away is written anew after SIGHUP.
func TestAgentLogRotated(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent()
	s.configure("admin: {socket: DIR/admin.sock}\nlog: {format: json, file: DIR/headgate.log}\n")
	a.start()
	await(t, "the start", func() bool { _, err := s.admin().Status(t.Context()); return err == nil })
	if err := os.Rename(s.path("headgate.log"), s.path("headgate.log.1")); err != nil {
		t.Fatal(err)
	}
	a.signal(syscall.SIGHUP)
	await(t, "the new log", func() bool {
		text, _ := os.ReadFile(s.path("headgate.log"))
		return strings.Contains(string(text), `"msg":"the configuration is in force"`)
	})
	if old := s.read("headgate.log.1"); strings.Count(old, "the configuration is in force") != 1 {
		t.Errorf("the old log is\n%s", old)
	}
}

package e2e_test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/headgate/headgate/test/need"
)

// notifications returns where systemd would listen, and what the agent has told there.
func (s *site) notifications() (socket string, told *transcript) {
	s.tb.Helper()
	socket, told = s.path("notify"), &transcript{}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { conn.Close() })
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			_, _ = told.Write(append(buffer[:n:n], "\n\n"...))
		}
	}()
	return socket, told
}

// systemd is told when the agent is ready, while it reads its file again, that it is alive, and that it stops.
func TestAgentTellsSystemd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	socket, told := s.notifications()
	s.configure(unlimited)
	a := s.agent()
	a.with("NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=200000")
	a.start()
	told.await(t, "READY=1")
	if r := s.local(webPort).get("/"); r.status != http.StatusOK {
		t.Errorf("ready, and answers %d", r.status)
	}
	await(t, "the watchdog being told", func() bool { return strings.Count(told.String(), "WATCHDOG=1") >= 3 })
	a.signal(syscall.SIGHUP)
	await(t, "a reload being told", func() bool { return strings.Count(told.String(), "READY=1") == 2 })
	s.configure("nonsense")
	a.signal(syscall.SIGHUP)
	await(t, "a failed reload being told", func() bool { return strings.Count(told.String(), "READY=1") == 3 })
	if code := a.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	var order []string
	for message := range strings.SplitSeq(told.String(), "\n\n") {
		first, _, _ := strings.Cut(message, "\n")
		if first == "RELOADING=1" && !strings.Contains(message, "\nMONOTONIC_USEC=") {
			t.Errorf("%q says not when", message)
		}
		if first != "WATCHDOG=1" && first != "" {
			order = append(order, first)
		}
	}
	if got := strings.Join(order, " "); !strings.HasPrefix(got, "READY=1 RELOADING=1 READY=1 RELOADING=1 READY=1") || !strings.HasSuffix(got, " STOPPING=1") {
		t.Errorf("systemd was told %s", got)
	}
}

// A socket that systemd has opened is served, and again by the next agent: what connects between the two waits.
func TestAgentTakesSocketsOfSystemd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	var file *os.File
	err := s.pair.Far.Namespace.Do(func() error {
		l, err := net.Listen("tcp", "0.0.0.0:"+webPort)
		if err != nil {
			return err
		}
		defer l.Close() // file stays open
		file, err = l.(*net.TCPListener).File()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	s.configure(strings.Replace(unlimited, `["0.0.0.0:8080"]`, `["systemd:web"]`, 1))
	activated := func() *agent {
		a := s.agent()
		a.ExtraFiles = []*os.File{file}
		a.wrapped(wrapSockets).with("LISTEN_FDS=1", "LISTEN_FDNAMES=web")
		a.start()
		return a
	}
	a := activated()
	a.awaitInForce()
	if r := s.browser(modest).get("/"); r.status != http.StatusOK {
		t.Errorf("status %d", r.status)
	}
	a.reload(strings.Replace(unlimited, `["0.0.0.0:8080"]`, `["systemd:web"]`, 1) + "timeouts: {idle: 60s}\n")
	if r := s.browser(modest).get("/"); r.status != http.StatusOK {
		t.Errorf("status %d after a reload", r.status)
	}
	if code := a.stop(); code != 0 {
		t.Errorf("exit %d:\n%s", code, a.log)
	}
	waits := make(chan response, 1)
	go func() {
		r, err := s.browser(modest).try("/")
		if err != nil {
			t.Error(err)
		}
		waits <- r
	}()
	activated()
	if r := <-waits; r.status != http.StatusOK {
		t.Errorf("who connected while no agent ran gets %d", r.status)
	}
}

// systemd finds nothing wrong with the units.
func TestAgentUnits(t *testing.T) {
	t.Parallel()
	need.Root(t) // or there is no binary
	analyze := need.Program(t, "systemd-analyze", "apt-get install systemd, which nobody has to run")
	units, err := filepath.Glob("../../deploy/*.s[eo][rc][vk]*")
	if err != nil || len(units) < 3 {
		t.Fatalf("units %v, %v", units, err)
	}
	dir := t.TempDir()
	args := []string{"verify", "--man=no"}
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		installed := strings.ReplaceAll(string(text), "/usr/local/bin/headgate", os.Getenv(binaryVariable))
		copied := filepath.Join(dir, filepath.Base(unit))
		if err := os.WriteFile(copied, []byte(installed), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, copied)
	}
	out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

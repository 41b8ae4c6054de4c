package docs_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runDir is where documents have sockets; each machine has a directory of its own in its place.
const runDir = "/run/headgate/"

// agent is headgate run on a machine, in front of a backend.
type agent struct {
	file string
	dir  string // of its machine
	log  string // its path
}

// start has an agent run by a file of the project until the test ends or another one starts.
func (m *machine) start(t *testing.T, file string) {
	t.Helper()
	if m.agent != nil {
		t.Fatalf("an agent runs already, by %s", m.agent.file)
	}
	text := strings.ReplaceAll(read(t, filepath.Join(root, file)), runDir, m.dir+"/run/")
	if err := os.WriteFile(filepath.Join(m.dir, "headgate.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m.agent = &agent{file: file, dir: m.dir, log: filepath.Join(m.dir, "agent.log")}
	m.startBackend(t)
	log, err := os.Create(m.agent.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command("sh", "-c", "exec headgate run -c headgate.yaml")
	cmd.Dir, cmd.Env, cmd.Stderr = m.dir, m.env, log
	if err := m.namespace.Do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended, by a command of the document
		if err := <-ended; err != nil {
			t.Errorf("the agent ended: %v\n%s", err, read(t, m.agent.log))
		}
	})
	m.agent.wait(t, "the configuration is in force")
}

// wait waits until the agent has said something.
func (a *agent) wait(t *testing.T, what string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(commandLimit); !strings.Contains(read(t, a.log), what); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("the agent does not say %q:\n%s", what, read(t, a.log))
		}
	}
}

// startBackend serves what the agent is in front of.
func (m *machine) startBackend(t *testing.T) {
	t.Helper()
	var l net.Listener
	err := m.namespace.Do(func() (err error) {
		l, err = net.Listen("tcp", "127.0.0.1:9000")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("hello\n"))
	})}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("the backend ended: %v", err)
		}
	})
}

// said returns the lines of shown as the agent has logged them, when it has logged all. A line that it does not log in time is
// left out.
func (a *agent) said(ctx context.Context, shown string) (string, int, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(a.log)
		if err != nil {
			return "", 0, err
		}
		said := a.linesOf(string(text), shown)
		if strings.Count(said, "\n") == strings.Count(shown, "\n") {
			return said, 0, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return said, 0, nil
		}
	}
}

// linesOf returns the lines of a log that are like those that are shown, in the order of these.
func (a *agent) linesOf(text, shown string) string {
	logged := map[string]string{}
	for line := range strings.Lines(strings.ReplaceAll(text, a.dir+"/run/", runDir)) {
		logged[shape(line)] = line
	}
	var b strings.Builder
	for line := range strings.Lines(shown) {
		b.WriteString(logged[shape(line)])
	}
	return b.String()
}

// curl does what a command line of curl asks for, from a client's address or on the machine itself.
func (m *machine) curl(ctx context.Context, from, line string) (out string, exit int, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	line, filter, _ := strings.Cut(line, " | ")
	r, err := parseCurl(line)
	if err != nil {
		return "", 0, err
	}
	namespace, dialer := m.namespace, &net.Dialer{}
	if from != "" {
		addr, err := netip.ParseAddr(from)
		if err != nil {
			return "", 0, err
		}
		namespace, dialer.LocalAddr = m.clients, net.TCPAddrFromAddrPort(netip.AddrPortFrom(addr, 0))
	}
	r.socket = strings.Replace(r.socket, runDir, m.dir+"/run/", 1)
	out, err = r.do(func(limit time.Duration) (conn net.Conn, err error) {
		dialer.Timeout = limit
		err = namespace.Do(func() error {
			conn, err = dialer.DialContext(ctx, r.network(), r.address())
			return err
		})
		return conn, err
	})
	if errors.Is(err, errTimedOut) {
		exit, err = timedOut, nil
	}
	if err != nil || filter == "" {
		return out, exit, err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", filter)
	cmd.Stdin = strings.NewReader(out)
	filtered, err := cmd.Output()
	return string(filtered), 0, err
}

// What differs from run to run.
var (
	version  = regexp.MustCompile(`(?m)^(version +).*$`)
	checksum = regexp.MustCompile(`\b[0-9a-f]{12,64}\b`)
	instant  = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`)
	figure   = regexp.MustCompile(`(\d+(\.\d+)?(h|m|s|ms|µs)?)+`)
	spaces   = regexp.MustCompile(` +`)
)

// shape returns what is the same in each run.
func shape(text string) string {
	text = undated(text)
	text = version.ReplaceAllString(text, "$1")
	for _, differs := range []*regexp.Regexp{checksum, instant, figure} {
		text = differs.ReplaceAllString(text, "#")
	}
	return spaces.ReplaceAllString(text, " ")
}

func isLike(a, b string) bool { return shape(a) == shape(b) }

func TestShape(t *testing.T) {
	for _, c := range []struct {
		a, b string
		like bool
	}{
		{"A   5  58.2s\n", "A 1234  1m0s\n", true},
		{"read 2026-11-30 03:56:10", "read 2027-01-02 13:00:00", true},
		{"read 2026-11-30T03:56:10.25Z", "read 2027-01-02T13:00:00Z", true},
		{"(a60a4f0da679)", "(0123456789ab)", true},
		{"version  (devel)\n", "version   v1.2.3\n", true},
		{"Date: Mon", "Date: Tue", true},
		{"5 dropped", "5 passed", false},
		{"one\ntwo\n", "one\n", false},
	} {
		if got := isLike(c.a, c.b); got != c.like {
			t.Errorf("%q, %q: %t", c.a, c.b, got)
		}
	}
}

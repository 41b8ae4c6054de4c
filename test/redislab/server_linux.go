package redislab

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/port"
	"github.com/headgate/headgate/test/thread"
)

// patience is how long a server may take for what takes it milliseconds.
const patience = 30 * time.Second

// Server is a redis-server process that ends with the test.
type Server struct {
	// Addr is HOST:PORT on 127.0.0.1; the same after Restart.
	Addr string

	tb      testing.TB
	inside  func(func() error) error // calls a function where the server is
	bind    string
	first   []string // arguments that come before others
	args    []string
	dir     string
	process *exec.Cmd
}

// Start starts a server that keeps nothing on disk. args are more of redis-server's: "--maxmemory", "4mb".
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s := prepare(tb, port.Reserve(tb), args...)
	s.begin()
	return s
}

// StartInside is Start in a network namespace: inside calls a function with its thread in there. The server takes
// connections to all addresses, at port 6379.
func StartInside(tb testing.TB, inside func(func() error) error, args ...string) *Server {
	tb.Helper()
	s := prepare(tb, 6379, append([]string{"--protected-mode", "no"}, args...)...)
	s.inside, s.bind = inside, "0.0.0.0"
	s.begin()
	return s
}

// prepare makes a server that does not run yet.
func prepare(tb testing.TB, port int, args ...string) *Server {
	tb.Helper()
	s := &Server{
		Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), bind: "127.0.0.1",
		tb: tb, args: args, dir: tb.TempDir(), inside: func(f func() error) error { return f() },
	}
	tb.Cleanup(s.Kill)
	return s
}

// begin starts the process, and waits until it answers.
func (s *Server) begin() {
	s.tb.Helper()
	_, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		s.tb.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer log.Close()
	args := slices.Concat(s.first, []string{
		"--bind", s.bind, "--port", port, "--dir", s.dir, "--save", "", "--appendonly", "no", "--daemonize", "no",
	}, s.args)
	s.process = command(context.Background(), s.tb, "redis-server", args...)
	s.process.Stdout, s.process.Stderr = log, log
	s.process.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := thread.Start(s.process, s.inside); err != nil {
		s.tb.Fatal(err)
	}
	s.await("it answers", func() bool {
		out, err := s.run("PING")
		return err == nil && out == "PONG"
	})
}

// Kill kills the process as kill -9 does. One that does not run stays so.
func (s *Server) Kill() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	_ = s.process.Wait() // says that it was killed
	s.process = nil
}

// Restart starts the process again at the same address, with no data.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Kill()
	s.begin()
}

// Stop halts the process (SIGSTOP): connections stay, and nothing is answered until Continue.
func (s *Server) Stop() { s.signal(unix.SIGSTOP) }

// Continue ends Stop.
func (s *Server) Continue() { s.signal(unix.SIGCONT) }

func (s *Server) signal(sig unix.Signal) {
	s.tb.Helper()
	if err := s.process.Process.Signal(sig); err != nil {
		s.tb.Fatal(err)
	}
}

// Do runs a command and returns what redis-cli prints of the answer. An error of Redis' fails the test.
func (s *Server) Do(args ...string) string {
	s.tb.Helper()
	out, err := s.run(args...)
	if err != nil {
		s.tb.Fatalf("redis %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// Count returns how many commands of a name the server has got, EVALSHA for one, those that scripts call included.
func (s *Server) Count(command string) int {
	s.tb.Helper()
	for line := range strings.Lines(s.Do("INFO", "commandstats")) {
		rest, is := strings.CutPrefix(line, "cmdstat_"+strings.ToLower(command)+":calls=")
		if !is {
			continue
		}
		calls, _, _ := strings.Cut(rest, ",")
		n, err := strconv.Atoi(calls)
		if err != nil {
			s.tb.Fatalf("commandstats: %q", line)
		}
		return n
	}
	return 0
}

func (s *Server) run(args ...string) (string, error) {
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := command(ctx, s.tb, "redis-cli", append([]string{"-e", "-h", host, "-p", port}, args...)...)
	var out []byte
	err = s.inside(func() (err error) {
		out, err = cmd.CombinedOutput()
		return err
	})
	text := string(bytes.TrimSpace(out))
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return text, nil
}

// await waits until something is so.
func (s *Server) await(what string, is func() bool) {
	s.tb.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			s.tb.Fatalf("redis-server on %s: not so within %v: %s\n%s", s.Addr, patience, what, log)
		}
	}
}

// FailSave makes the server unable to save its data, which it is to have been started for ("--save", "3600 1"), and refuse all
// that writes.
func (s *Server) FailSave() {
	s.tb.Helper()
	if err := os.Mkdir(filepath.Join(s.dir, "dump.rdb"), 0o700); err != nil { // not even root writes a file there
		s.tb.Fatal(err)
	}
	s.Do("BGSAVE")
	s.await("a save fails", func() bool { return strings.Contains(s.Do("INFO", "persistence"), "rdb_last_bgsave_status:err") })
}

// MendSave ends FailSave.
func (s *Server) MendSave() {
	s.tb.Helper()
	if err := os.Remove(filepath.Join(s.dir, "dump.rdb")); err != nil {
		s.tb.Fatal(err)
	}
	s.Do("SAVE")
}

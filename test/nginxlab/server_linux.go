package nginxlab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate/test/thread"
)

// patience is how long nginx may take for anything. It takes less than a millisecond, on a machine
// that has time for it.
const patience = 60 * time.Second

// Where nginx listens, in its directory, and the header field of $limit_req_status.
const (
	socket       = "nginx.sock"
	statusHeader = "Limit-Req-Status"
)

// Server is an nginx. It is not safe for concurrent use: requests go one by one.
type Server struct {
	tb     testing.TB
	dir    string
	clock  *clock
	log    *log
	seen   []line          // the latest
	closed map[string]bool // connections, as the log names them
}

// Start starts an nginx whose clock stands at now, and stops it when the test ends. zones are directives
// of its http block, locations are the directives in each location, by path. Each location
// answers with status 200 what its directives let pass.
func Start(tb testing.TB, now time.Duration, zones string, locations map[string]string) *Server {
	tb.Helper()
	b := find(tb)
	dir, err := os.MkdirTemp("", "nginxlab-") // a short path, as that of a socket has to be
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { remove(tb, dir) })
	clock, err := newClock()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(clock.close)
	clock.set(now)
	s := &Server{tb: tb, dir: dir, clock: clock, closed: map[string]bool{}}
	if err := s.writeFiles(zones, locations); err != nil {
		tb.Fatal(err)
	}
	s.run(b)
	s.await("it is ready", func(l line) bool { return l.text == "worker cycle" })
	return s
}

// writeFiles writes all that nginx reads.
func (s *Server) writeFiles(zones string, locations map[string]string) error {
	return errors.Join(
		os.WriteFile(s.path("clock.so"), clockLibrary, 0o700),
		os.WriteFile(s.path("answer"), nil, 0o600),
		os.WriteFile(s.path("nginx.conf"), []byte(configuration(zones, locations)), 0o600),
	)
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

// run starts nginx and makes sure that it ends.
func (s *Server) run(b binary) {
	s.tb.Helper()
	cmd := b.Command(s.tb.Context(), "-p", s.dir, "-c", s.path("nginx.conf"), "-e", "stderr")
	cmd.Env = append(cmd.Env, "LD_PRELOAD="+s.path("clock.so"))
	cmd.Dir = s.dir
	cmd.ExtraFiles = []*os.File{s.clock.file} // descriptor 3, as in clock.c
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	pipe, err := cmd.StderrPipe()
	if err != nil {
		s.tb.Fatal(err)
	}
	if err := thread.Start(cmd, nil); err != nil {
		s.tb.Fatal(err)
	}
	s.log = newLog(pipe)
	s.tb.Cleanup(func() {
		_ = cmd.Process.Kill() // an error says that it has ended
		s.log.drain()
		_ = cmd.Wait() // with the signal as its error
	})
}

// configuration returns nginx's configuration: one process, which logs all it does, and writes
// to no place but its own directory.
func configuration(zones string, locations map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, skeleton, zones, socket, statusHeader)
	for path, directives := range locations {
		fmt.Fprintf(&b, "location = %s {\n%s\nalias answer;\n}\n", path, directives)
	}
	fmt.Fprintf(&b, "location = %s { alias answer; }\n}\n}\n", tick)
	return b.String()
}

const skeleton = `daemon off;
master_process off;
pid nginx.pid;
lock_file nginx.lock;
error_log stderr debug;
events { worker_connections 64; }
http {
access_log off;
client_body_temp_path body;
proxy_temp_path proxy;
fastcgi_temp_path fastcgi;
uwsgi_temp_path uwsgi;
scgi_temp_path scgi;
client_header_timeout 1000d;
keepalive_timeout 0;
%s
server {
listen unix:%s;
add_header %s $limit_req_status always;
`

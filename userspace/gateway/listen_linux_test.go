package gateway

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/leak"
	"github.com/headgate/headgate/userspace/config"
)

func TestListenUnix(t *testing.T) {
	leak.Check(t)
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(config.Listener{Network: "unix", Address: path, Access: config.Access{Mode: 0o600}}, ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Lstat(path)
	if err != nil || file.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v, %v: want a socket of mode 0600", file.Mode(), err)
	}
	if l.Addr().String() != path {
		t.Errorf("address %s, want %s", l.Addr(), path)
	}
	_, err = Listen(config.Listener{Network: "unix", Address: path}, ListenOptions{})
	if err == nil || !strings.Contains(err.Error(), "another process listens on") {
		t.Errorf("error %v of a second listener", err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("after the second: %v", err)
	}
	conn.Close()
	l.Close()
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// What a process leaves that was killed is replaced.
func TestListenUnixStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	l, err := Listen(config.Listener{Network: "unix", Address: path}, ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if file, err := os.Lstat(path); err != nil || file.Mode().Perm() != config.DefaultSocketMode {
		t.Errorf("%v, %v", file, err)
	}
}

// A listener does not remove what another has put in its place.
func TestListenUnixReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	at := config.Listener{Network: "unix", Address: path}
	first, err := Listen(at, ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, err := Listen(at, ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	first.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}

func TestListenErrors(t *testing.T) {
	leak.Check(t)
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	writeFile(t, plain, []byte("data"))
	long := filepath.Join(dir, strings.Repeat("l", 100))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	missing := &config.TLS{Certificate: filepath.Join(dir, "no.pem"), Key: plain}
	tests := map[string]struct {
		l    config.Listener
		want string
	}{
		"regular file":   {config.Listener{Network: "unix", Address: plain}, "is no socket"},
		"no directory":   {config.Listener{Network: "unix", Address: filepath.Join(dir, "no/such/s")}, "no such file or directory"},
		"long path":      {config.Listener{Network: "unix", Address: filepath.Join(long, "s")}, "choose a shorter one"},
		"no certificate": {config.Listener{Network: "tcp", Address: "127.0.0.1:0", TLS: missing}, "no.pem: no such file"},
		"bad address":    {config.Listener{Network: "tcp", Address: "127.0.0.1:x"}, "unknown port"},
		"no systemd":     {config.Listener{Network: "systemd", Address: "web"}, "no socket of that name, but none at all"},
		"network":        {config.Listener{Network: "udp", Address: "x"}, "use tcp, unix or systemd"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l, err := Listen(tt.l, ListenOptions{})
			if err == nil {
				l.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.l.Address) {
				t.Errorf("error %v, want %q and the address", err, tt.want)
			}
		})
	}
	if data, err := os.ReadFile(plain); err != nil || string(data) != "data" {
		t.Errorf("the file that was in the way has %q, %v", data, err)
	}
}

// A process that systemd starts serves on the sockets that it gets, by their names, and on each again after it was closed.
func TestInherited(t *testing.T) {
	if os.Getenv("LISTEN_FDS") != "" {
		serveInherited()
		os.Exit(0)
	}
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// LISTEN_PID must be that of the process, which only a shell can tell before it is one.
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `LISTEN_PID=$$ exec "$0" -test.run=^TestInherited$`, self)
	cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "LISTEN_FDNAMES=web")
	cmd.ExtraFiles = []*os.File{file}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if g := do(t, client(t, &http.Transport{DisableKeepAlives: true}), http.MethodGet, "http://"+l.Addr().String(), ""); g.body != "inherited" {
			t.Errorf("%q", g.body)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// serveInherited answers one request on each of two listeners on the same socket.
func serveInherited() {
	sockets := Inherited()
	if os.Getenv("LISTEN_FDS") != "" {
		panic("the environment still tells of sockets")
	}
	for range 2 {
		l, err := Listen(config.Listener{Network: "systemd", Address: "web"}, ListenOptions{Sockets: sockets})
		if err != nil {
			panic(err)
		}
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		l.Close()
		// A client takes an answer that comes before its request for none.
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, "HTTP/1.0 200 OK\r\n\r\ninherited")
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	}
}

package conformance_test

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate/test/conformance"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/nginxlab"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/gateway"
)

// workersUser runs nginx's workers, as www-data does with Debian's packages.
const workersUser = "nobody"

// groupOf returns the group of a user.
func groupOf(t *testing.T, name string) string {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	g, err := user.LookupGroupId(u.Gid)
	if err != nil {
		t.Fatal(err)
	}
	return g.Name
}

// startWithWorkers starts an nginx whose workers run as another user than its master and headgate.
func startWithWorkers(t *testing.T) nginx {
	t.Helper()
	s := conformance.NewSite(t)
	if err := os.Chmod(s.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	recipe := filepath.Join(s.Dir, "headgate.conf")
	server := fmt.Sprintf(nginxServer, s.Auth(), s.Front(), recipe, s.App())
	conf := strings.NewReplacer("DIR", s.Dir, "USER", workersUser, "GROUP", groupOf(t, workersUser), "SERVER", server).Replace(`
daemon off; user USER GROUP; worker_processes 1; pid DIR/nginx.pid; error_log DIR/error.log;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/fastcgi; uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;
  SERVER
}
`)
	for name, text := range map[string]string{"headgate.conf": nginxRecipe(t), "nginx.conf": conf} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd, err := nginxlab.Command(t.Context(), "-p", s.Dir, "-c", filepath.Join(s.Dir, "nginx.conf"), "-e", filepath.Join(s.Dir, "error.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // the master ends its workers
		_ = cmd.Wait()                          // says that the test has ended
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		conn, err := net.Dial("unix", s.Front())
		if err == nil {
			conn.Close()
			return nginx{s}
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(s.Dir, "error.log"))
			t.Fatalf("nginx does not listen: %v\n%s", err, log)
		}
	}
}

// serveAuth refuses all that is asked about, at a socket for those of access.
func (n nginx) serveAuth(t *testing.T, access config.Access) *gateway.Server {
	t.Helper()
	l, err := gateway.Listen(config.Listener{Network: config.NetworkUnix, Address: n.Auth(), Access: access}, gateway.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	minute := config.Timeouts{Header: time.Minute, Read: time.Minute, Write: time.Minute, Idle: time.Minute, Tunnel: time.Minute}
	s := gateway.NewServer(gateway.ServerOptions{Timeouts: minute, Log: slog.New(slog.DiscardHandler), Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Headgate-Status", "429")
			w.WriteHeader(http.StatusForbidden)
		})})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s
}

// Workers of nginx that run as another user than headgate ask at a socket that is for their group. Without that they get through to
// the application unasked, and all that tells of it is the error log and the count of requests, as the recipe says.
func TestNginxWorkersOfAnotherUser(t *testing.T) {
	need.Root(t)
	for name, tt := range map[string]struct {
		access config.Access
		status int
		asked  uint64
	}{
		"of the group": {config.Access{Group: groupOf(t, workersUser)}, http.StatusTooManyRequests, 1},
		"of no group":  {config.Access{}, http.StatusOK, 0},
	} {
		t.Run(name, func(t *testing.T) {
			n := startWithWorkers(t)
			n.Serve(t, n.App(), says(http.StatusOK))
			if err := os.Chmod(n.App(), 0o666); err != nil {
				t.Fatal(err)
			}
			s := n.serveAuth(t, tt.access)
			a := n.Send(t, conformance.Step{Peer: netip.MustParseAddr("192.0.2.7")})
			if a.Status != tt.status || s.Requests() != tt.asked {
				t.Errorf("status %d, headgate was asked %d times; want %d, %d", a.Status, s.Requests(), tt.status, tt.asked)
			}
			log, err := os.ReadFile(filepath.Join(n.Dir, "error.log"))
			if err != nil {
				t.Fatal(err)
			}
			denied := regexp.MustCompile(`(?m)connect\(\) to unix:.* failed \(13: Permission denied\).*` + grepped(t)).Match(log)
			if denied != (tt.asked == 0) {
				t.Errorf("nginx logs\n%s", log)
			}
		})
	}
}

// grepped returns what the recipe looks for in nginx's error log.
func grepped(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^#\s+grep '(.*)' `).FindStringSubmatch(nginxRecipe(t))
	if found == nil {
		t.Fatal("the recipe does not say how to find why headgate is not asked")
	}
	return regexp.QuoteMeta(found[1])
}

package conformance

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/gateway"
)

// patience is how long a gateway may take for anything. It takes a millisecond, on a machine that has time for it.
const patience = 60 * time.Second

// Site is the place of a gateway that is a program of its own: unix sockets in a directory.
type Site struct{ Dir string }

// NewSite returns a site that is there until the end of the test.
func NewSite(t *testing.T) Site {
	t.Helper()
	dir, err := os.MkdirTemp("", "site-") // a path of t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return Site{dir}
}

// Front is where the gateway listens for clients. It takes the PROXY protocol.
func (s Site) Front() string { return filepath.Join(s.Dir, "front.sock") }

// Auth is where headgate is asked.
func (s Site) Auth() string { return filepath.Join(s.Dir, "auth.sock") }

// App is where the application is.
func (s Site) App() string { return filepath.Join(s.Dir, "app.sock") }

// Serve begins to serve at a socket, until the end of the test.
func (s Site) Serve(t *testing.T, socket string, h http.Handler) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close() // says that connections are closed, which is meant
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

// ServeRules serves the fronts for gateways, which decide by r, and an application whose answers say nothing.
func (s Site) ServeRules(t *testing.T, r Rules) {
	t.Helper()
	s.Serve(t, s.Auth(), gateway.NewAuth(r.Set, gateway.AuthOptions{Limit: r.Options, Log: slog.New(slog.DiscardHandler)}))
	s.Serve(t, s.App(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
}

// Send makes the request of a step to the gateway, over a connection of its own from the step's peer.
func (s Site) Send(t *testing.T, step Step) Answer {
	t.Helper()
	step = step.complete()
	conn, err := net.Dial("unix", s.Front())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, proxyLine(step.Peer)+step.text()); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: step.Method})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Answer{Status: res.StatusCode, Header: Told(res.Header), Body: string(body)}
}

// proxyLine returns the line of the PROXY protocol that tells who a connection is from.
func proxyLine(peer netip.Addr) string {
	switch {
	case !peer.IsValid():
		return "PROXY UNKNOWN\r\n"
	case peer.Is4():
		return fmt.Sprintf("PROXY TCP4 %s 192.0.2.1 4711 80\r\n", peer)
	default:
		return fmt.Sprintf("PROXY TCP6 %s 2001:db8::80 4711 80\r\n", peer)
	}
}

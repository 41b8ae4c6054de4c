package agent_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/port"
)

// A listener moves to an address that overlaps with its own in one reload, without a connection that is refused.
func TestOverlappingListeners(t *testing.T) {
	at := port.Reserve(t)
	text := func(host, more string) string {
		return fmt.Sprintf("metrics: {listen: %q}\n%s", fmt.Sprint(host, ":", at), more)
	}
	l := newLab(t, text("0.0.0.0", ""))
	l.start()
	url := fmt.Sprintf("http://127.0.0.1:%d/healthz", at)
	client := &http.Client{Timeout: forever, Transport: &http.Transport{DisableKeepAlives: true}}
	get := func() error {
		res, err := client.Get(url)
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		return err
	}
	want := func(when string) {
		t.Helper()
		eventually(t, "an answer "+when, func() bool { return get() == nil }) // the socket that is gone may be there for a moment
		if other, err := net.Listen("tcp4", fmt.Sprint("127.0.0.1:", at)); err == nil {
			other.Close()
			t.Errorf("%s: another process can listen there", when)
		}
	}
	l.write(text("127.0.0.1", "log: {file: DIR/no/such/log}\n"))
	if err := l.agent.Reload(); err == nil {
		t.Error("the reload succeeded")
	}
	want("after one that was refused")
	l.reload(text("127.0.0.1", ""))
	want("on one address")
	l.reload(text("0.0.0.0", ""))
	want("on all addresses")

	var load sync.WaitGroup
	var stop atomic.Bool
	var refused atomic.Int64
	load.Go(func() {
		for !stop.Load() {
			conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", at))
			switch {
			case err == nil:
				conn.Close()
			case errors.Is(err, syscall.ECONNREFUSED): // one that waits at a socket that is closed is reset
				refused.Add(1)
			}
		}
	})
	for range 5 {
		l.reload(text("0.0.0.0", ""))
		l.reload(text("127.0.0.1", ""))
	}
	stop.Store(true)
	load.Wait()
	if n := refused.Load(); n > 0 {
		t.Errorf("%d connections were refused", n)
	}
}

// A listener that stays makes no room where another one moves: who asks for that gets no share of its connections.
func TestListenerThatStaysIsNotShared(t *testing.T) {
	moving, staying := port.Reserve(t), port.Reserve(t)
	text := func(host string) string {
		return fmt.Sprintf("metrics: {listen: \"%s:%d\"}\nauth: {listen: [\"127.0.0.1:%d\"]}\n", host, moving, staying)
	}
	l := newLab(t, text("0.0.0.0"))
	l.start()
	l.reload(text("127.0.0.1"))
	sharing := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			if err := unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
				t.Error(err)
			}
		})
	}}
	other, err := sharing.Listen(t.Context(), "tcp4", fmt.Sprint("127.0.0.1:", staying))
	if err == nil {
		other.Close()
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v, want that the address is in use", err)
	}
}

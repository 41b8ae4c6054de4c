package gateway

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/headgate/headgate/test/leak"
	"github.com/headgate/headgate/userspace/config"
)

// What a reload does: a second server on the same socket takes over, and the file goes only with the first.
func TestDup(t *testing.T) {
	leak.Check(t)
	path := filepath.Join(t.TempDir(), "s")
	for _, at := range []config.Listener{{Network: "tcp", Address: "127.0.0.1:0"}, {Network: "unix", Address: path}} {
		base, err := Open(at, ListenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			l, err := Dup(base)
			if err != nil {
				t.Fatal(err)
			}
			s := NewServer(ServerOptions{Handler: http.HandlerFunc(who), Timeouts: times(), Log: quiet()})
			wait := background(func() {
				if err := s.Serve(l); err != nil {
					t.Error(err)
				}
			})
			conn, err := net.Dial(at.Network, base.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			conn.Close()
			wait()
		}
		if conn, err := net.Dial(at.Network, base.Addr().String()); err != nil {
			t.Errorf("%s: %v after the copies were closed", at.Network, err)
		} else {
			conn.Close()
		}
		base.Close()
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket's file: %v", err)
	}
}

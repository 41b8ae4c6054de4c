package httplimit_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What a connection can do besides net.Conn is still there.
func TestHijackedConnKeeps(t *testing.T) {
	for _, c := range []struct {
		name  string
		dial  func(t *testing.T, h http.Handler) net.Conn
		keeps func(net.Conn) bool
	}{
		{"tcp", dialTCP, func(c net.Conn) bool {
			_, from := c.(io.ReaderFrom)
			_, to := c.(io.WriterTo)
			_, raw := c.(syscall.Conn)
			_, half := c.(interface{ CloseWrite() error })
			_, delay := c.(interface{ SetNoDelay(bool) error })
			return from && to && raw && half && delay
		}},
		{"unix", dialUnix, func(c net.Conn) bool {
			_, raw := c.(syscall.Conn)
			_, half := c.(interface{ CloseWrite() error })
			_, from := c.(interface {
				ReadFromUnix([]byte) (int, *net.UnixAddr, error)
			})
			return raw && half && from
		}},
		{"tls", dialTLS, func(c net.Conn) bool {
			s, state := c.(interface{ ConnectionState() tls.ConnectionState })
			_, half := c.(interface{ CloseWrite() error })
			return state && half && s.ConnectionState().HandshakeComplete
		}},
		{"half", dialWrapped(func(c net.Conn) net.Conn { return struct{ *net.TCPConn }{c.(*net.TCPConn)} }), func(c net.Conn) bool {
			_, half := c.(interface{ CloseWrite() error })
			return half
		}},
		{"any", dialWrapped(func(c net.Conn) net.Conn { return struct{ net.Conn }{c} }), func(c net.Conn) bool {
			_, half := c.(interface{ CloseWrite() error })
			return !half // it had none
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sl := newSlots(1)
			conns := make(chan net.Conn, 1)
			client := c.dial(t, sl.around(func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
				}
				conns <- conn
			}))
			if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			conn := <-conns
			<-sl.released
			if !c.keeps(conn) {
				t.Errorf("%T lacks something", conn)
			}
			sl.checkFree(t, 0)
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			sl.checkFree(t, 1)
		})
	}
}

func dialTCP(t *testing.T, h http.Handler) net.Conn { return serve(t, http1, h).dial() }

func dialUnix(t *testing.T, h http.Handler) net.Conn {
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	return dialListener(t, h, listener, listener)
}

func dialTLS(t *testing.T, h http.Handler) net.Conn {
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	conn, err := tls.Dial("tcp", s.Listener.Addr().String(), s.Client().Transport.(*http.Transport).TLSClientConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// dialWrapped serves connections that wrap changes.
func dialWrapped(wrap func(net.Conn) net.Conn) func(t *testing.T, h http.Handler) net.Conn {
	return func(t *testing.T, h http.Handler) net.Conn {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return dialListener(t, h, listener, wrapping{listener, wrap})
	}
}

type wrapping struct {
	net.Listener
	wrap func(net.Conn) net.Conn
}

func (w wrapping) Accept() (net.Conn, error) {
	conn, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return w.wrap(conn), nil
}

// dialListener serves h on served, which takes its connections from listener, and connects to it.
func dialListener(t *testing.T, h http.Handler, listener, served net.Listener) net.Conn {
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(served) }()
	t.Cleanup(func() { s.Close() })
	conn, err := net.Dial(listener.Addr().Network(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

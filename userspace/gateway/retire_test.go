package gateway

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// ask sends a request on a connection that stays, and returns the answer without its body.
func ask(t *testing.T, conn net.Conn, in *bufio.Reader) *http.Response {
	t.Helper()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return res
}

// A server that retires answers what comes on connections that there are, and each of them ends with that. It does not
// wait longer than for the last.
func TestRetire(t *testing.T) {
	bubble(t, who, func(t *testing.T, s *Server, p *pipes) {
		conn := p.connect(t)
		in := bufio.NewReader(conn)
		if res := ask(t, conn, in); res.Close {
			t.Error("a connection ends though its server does not retire")
		}
		var retired time.Duration
		wait := background(func() {
			began := time.Now()
			s.Retire(t.Context())
			retired = time.Since(began)
		})
		time.Sleep(10 * time.Second) // idle, when Shutdown would have closed it
		if res := ask(t, conn, in); !res.Close {
			t.Error("a client is not told that its connection ends")
		}
		if _, err := in.ReadByte(); err != io.EOF {
			t.Errorf("the connection is open: %v", err)
		}
		wait()
		if retired < 10*time.Second || retired > 10*time.Second+retiring {
			t.Errorf("retired in %v", retired)
		}
	})
}

// A connection that is open when the server shuts down, and whose first request is on its way, is answered.
func TestFirstRequestOfAServerThatShutsDown(t *testing.T) {
	bubble(t, who, func(t *testing.T, s *Server, p *pipes) {
		conn := p.connect(t)
		synctest.Wait()
		defer background(func() {
			if err := s.Shutdown(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})()
		time.Sleep(firstRequest / 2)
		if res := ask(t, conn, bufio.NewReader(conn)); res.StatusCode != http.StatusOK {
			t.Errorf("status %d", res.StatusCode)
		}
	})
}

// late is a listener that returns connections a while after it has accepted them.
type late struct{ *pipes }

const lateness = time.Second

func (l late) Accept() (net.Conn, error) {
	conn, err := l.pipes.Accept()
	if err == nil {
		time.Sleep(lateness)
	}
	return conn, err
}

// A connection that was accepted when its server retires, and that net/http does not know yet, is answered.
func TestRetireJustAccepted(t *testing.T) {
	bubble(t, who, func(t *testing.T, s *Server, _ *pipes) {
		p := newPipes()
		served := background(func() {
			if err := s.Serve(late{p}); err != nil {
				t.Error(err)
			}
		})
		conn := p.connect(t)
		wait := background(func() {
			s.Retire(t.Context())
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(2 * lateness)
		if res := ask(t, conn, bufio.NewReader(conn)); res.StatusCode != http.StatusOK || !res.Close {
			t.Errorf("status %d, closes %v", res.StatusCode, res.Close)
		}
		wait()
		served()
	})
}

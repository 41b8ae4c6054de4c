package gateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
)

// limits are timeouts that tests in a bubble wait for.
func limits() config.Timeouts {
	return config.Timeouts{Header: 10 * time.Second, Read: 20 * time.Second, Write: 30 * time.Second, Idle: 40 * time.Second, Tunnel: 20 * time.Minute}
}

// bubble runs f with a server of h on connections in memory, on a clock that moves when all wait.
func bubble(t *testing.T, h http.HandlerFunc, f func(t *testing.T, s *Server, p *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		s := NewServer(ServerOptions{Name: "test", Handler: h, Timeouts: limits(), Log: quiet(), MaxConns: 100})
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(p) }()
		f(t, s, p)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// protocols of the pipes' client.
func (p *pipes) client(t testing.TB, http2 bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2)
	return client(t, &http.Transport{DialContext: p.dial, Protocols: protocols})
}

// bothProtocols runs f with a client of HTTP/1.1 and one of HTTP/2.
func bothProtocols(t *testing.T, h http.HandlerFunc, f func(t *testing.T, c *http.Client)) {
	t.Helper()
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, h, func(t *testing.T, _ *Server, p *pipes) {
				c := p.client(t, http2)
				f(t, c)
				c.CloseIdleConnections()
			})
		})
	}
}

// background runs f, and returns what waits until it has ended, as all must before a bubble does.
func background(f func()) (wait func()) {
	var running sync.WaitGroup
	running.Go(f)
	return running.Wait
}

// elapsed returns how long until a connection is closed by the other end.
func elapsed(conn net.Conn) time.Duration {
	began := time.Now()
	_, _ = io.Copy(io.Discard, conn)
	return time.Since(began)
}

// A client that sends a byte of its header now and then has the time of a header, and not more.
func TestSlowHeader(t *testing.T) {
	bubble(t, who, func(t *testing.T, _ *Server, p *pipes) {
		conn := p.connect(t)
		defer background(func() {
			for _, b := range []byte("GET / HTTP/1.1\r\n" + strings.Repeat("A: b\r\n", 100)) {
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})()
		if d := elapsed(conn); d != limits().Header {
			t.Errorf("closed after %v, want %v", d, limits().Header)
		}
	})
}

func TestIdle(t *testing.T) {
	bubble(t, who, func(t *testing.T, _ *Server, p *pipes) {
		conn := p.connect(t)
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if d := elapsed(conn); d != limits().Idle {
			t.Errorf("closed after %v, want %v", d, limits().Idle)
		}
	})
}

// body sends n bytes, one after each pause, and then stalls if it is to.
type body struct {
	n      int
	pause  time.Duration
	stalls bool
	ctx    context.Context
}

func (b *body) Read(p []byte) (int, error) {
	if b.n == 0 {
		if b.stalls {
			<-b.ctx.Done()
		}
		return 0, io.EOF
	}
	b.n--
	time.Sleep(b.pause)
	p[0] = 'b'
	return 1, nil
}

// reading answers how a body ended, and after how long.
func reading(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	n, err := io.Copy(io.Discard, r.Body)
	w.Header().Set("Elapsed", time.Since(began).String())
	if err != nil {
		w.WriteHeader(http.StatusRequestTimeout)
	}
	_, _ = io.WriteString(w, strings.Repeat("r", int(n)))
}

// A body may take longer than the timeout as long as it moves.
func TestSlowBody(t *testing.T) {
	bothProtocols(t, reading, func(t *testing.T, c *http.Client) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://h/", &body{n: 10, pause: limits().Read - time.Second})
		res, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if read, err := io.ReadAll(res.Body); err != nil || len(read) != 10 || res.StatusCode != http.StatusOK {
			t.Errorf("status %d, %d bytes, %v", res.StatusCode, len(read), err)
		}
	})
}

func TestStalledBody(t *testing.T) {
	bothProtocols(t, reading, func(t *testing.T, c *http.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://h/", &body{n: 3, pause: time.Second, stalls: true, ctx: ctx})
		res, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		res.Body.Close()
		took, err := time.ParseDuration(res.Header.Get("Elapsed"))
		least, most := limits().Read+2*time.Second, limits().Read+limits().Read/8+3*time.Second
		if err != nil || res.StatusCode != http.StatusRequestTimeout || took < least || took > most {
			t.Errorf("status %d after %v, %v; want %v to %v", res.StatusCode, took, err, least, most)
		}
	})
}

// Who is refused without his body being read cannot hold the connection by sending it slowly.
func TestUnreadBody(t *testing.T) {
	refuse := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }
	bubble(t, refuse, func(t *testing.T, _ *Server, p *pipes) {
		conn := p.connect(t)
		defer background(func() {
			_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n")
			for range 100 {
				if _, err := conn.Write([]byte("b")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})()
		if d := elapsed(conn); d > limits().Read+time.Second {
			t.Errorf("held for %v", d)
		}
	})
}

// A response that is not taken ends, and a stream in which nothing happens does not.
func TestStalledResponse(t *testing.T) {
	var ended atomic.Int64 // no channel: it would be outside of the bubble
	endless := func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		if r.URL.Path == "/silent" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				t.Error("the silent stream was ended")
			case <-time.After(10 * limits().Write):
			}
			_, _ = io.WriteString(w, "at last")
			return
		}
		for {
			if _, err := w.Write(make([]byte, 1<<10)); err != nil {
				ended.Store(int64(time.Since(began)))
				return
			}
		}
	}
	bothProtocols(t, endless, func(t *testing.T, c *http.Client) {
		for path := range map[string]bool{"/endless": true, "/silent": true} {
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h"+path, nil)
			res, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if path == "/silent" {
				if read, err := io.ReadAll(res.Body); err != nil || string(read) != "at last" {
					t.Errorf("%q, %v", read, err)
				}
			} else {
				time.Sleep(2 * limits().Write)
				if d := time.Duration(ended.Load()); d < limits().Write || d > limits().Write*9/8 {
					t.Errorf("ended after %v, want %v to an eighth more", d, limits().Write)
				}
			}
			res.Body.Close()
		}
	})
}

// A slow reader that takes something now and then keeps its response.
func TestSlowReader(t *testing.T) {
	sent := strings.Repeat("s", 100<<10)
	write := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, sent) }
	bubble(t, write, func(t *testing.T, _ *Server, p *pipes) {
		conn := p.connect(t)
		go func() { _, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n") }()
		res, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		n, buf := 0, make([]byte, 8<<10)
		for err == nil {
			time.Sleep(2 * time.Second)
			var m int
			m, err = res.Body.Read(buf)
			n += m
		}
		if n != len(sent) || !errors.Is(err, io.EOF) {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}

// The time for a body is over when it is there: the handler may take longer, and its client is not taken for gone.
func TestSlowHandlerAfterBody(t *testing.T) {
	slow := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
			w.WriteHeader(http.StatusServiceUnavailable)
		case <-time.After(10 * limits().Read):
		}
	}
	bothProtocols(t, slow, func(t *testing.T, c *http.Client) {
		if g := do(t, c, http.MethodPost, "http://h/", "body"); g.status != http.StatusOK {
			t.Errorf("status %d", g.status)
		}
	})
}

// So that a delayed request with a small body notices that its client leaves (httplimit), a guard must not hide what the body is.
func TestGuardDoesNotHideThatABodyMayBeReadAhead(t *testing.T) {
	may := make(chan bool, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(ServerOptions{Name: "test", Timeouts: limits(), Log: quiet(), Handler: http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) { may <- httplimit.MayReadAhead(r.Body) })})
	go s.Serve(l) //nolint:errcheck // it ends with the test
	defer s.Close()
	res, err := http.Post("http://"+l.Addr().String(), "text/plain", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if !<-may {
		t.Error("the body may not be read ahead")
	}
}

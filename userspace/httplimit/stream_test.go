package httplimit_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// The slot of a stream of events is occupied until the client leaves, which over HTTP/2 is
// a RST_STREAM, and is free then.
func TestCase52Streams(t *testing.T) {
	for _, p := range protocols() {
		t.Run(string(p), func(t *testing.T) {
			sl := newSlots(1)
			s := serve(t, p, sl.around(stream))
			ctx, leave := context.WithCancel(t.Context())
			res, err := s.client.Do(s.request(http.MethodGet, "/", "").WithContext(ctx))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			events := bufio.NewReader(res.Body)
			if line := readLine(t, events); line != "data: 1" {
				t.Errorf("the stream begins with %q", line)
			}
			sl.checkFree(t, 0) // though the header has been sent
			if res := s.get("/"); res.status != http.StatusTooManyRequests {
				t.Errorf("status %d while the stream goes on", res.status)
			}
			<-sl.released // that of the refused one
			leave()
			<-sl.released
			sl.checkFree(t, 1)
		})
	}
}

// stream sends an event and goes on until the client leaves.
func stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "data: 1\n\n")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func readLine(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// A tunnel of CONNECT over HTTP/2 occupies its slot as long as it is open.
func TestCase52Tunnels(t *testing.T) {
	sl := newSlots(1)
	s := serve(t, h2c, sl.around(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			t.Errorf("method %s", r.Method)
		}
		_ = http.NewResponseController(w).Flush()
		echo(w, r.Body)
	}))
	in, out := io.Pipe()
	r := s.request(http.MethodConnect, "", "")
	r.Body, r.ContentLength = in, -1
	res, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answers := bufio.NewReader(res.Body)
	for range 3 {
		if _, err := io.WriteString(out, "hello\n"); err != nil {
			t.Fatal(err)
		}
		if line := readLine(t, answers); line != "hello" {
			t.Errorf("the tunnel answers %q", line)
		}
		sl.checkFree(t, 0)
	}
	out.Close()
	<-sl.released
	sl.checkFree(t, 1)
}

// echo sends back what it reads, line by line.
func echo(w http.ResponseWriter, r io.Reader) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		_, _ = io.WriteString(w, lines.Text()+"\n")
		_ = http.NewResponseController(w).Flush()
	}
}

// The slot of a websocket that a reverse proxy passes on is occupied until one of its ends closes it.
func TestCase51ProxiedWebsockets(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(upgrade))
	t.Cleanup(backend.Close)
	target, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	sl := newSlots(1)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	s := serve(t, http1, sl.around(proxy.ServeHTTP))
	client := s.dial()
	const request = "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
	if _, err := io.WriteString(client, request); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(client)
	if line := readLine(t, answers); line != "HTTP/1.1 101 Switching Protocols" {
		t.Fatalf("%q", line)
	}
	for readLine(t, answers) != "" { // the rest of the header
	}
	for range 3 {
		if _, err := io.WriteString(client, "hello\n"); err != nil {
			t.Fatal(err)
		}
		if line := readLine(t, answers); line != "hello" {
			t.Errorf("the websocket answers %q", line)
		}
		sl.checkFree(t, 0)
	}
	client.Close()
	<-sl.released
	sl.checkFree(t, 1)
}

// upgrade is a backend that echoes lines, in place of a websocket's frames.
func upgrade(w http.ResponseWriter, _ *http.Request) {
	conn, both, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	echoConn(conn, both.Reader)
}

func echoConn(conn net.Conn, r io.Reader) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		_, _ = io.WriteString(conn, lines.Text()+"\n")
	}
}

package gateway

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A drain waits for tunnels, and closes them when its time is over.
func TestDrainTunnels(t *testing.T) {
	for name, leaves := range map[string]time.Duration{"the client leaves": time.Minute, "the client stays": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				s := NewServer(ServerOptions{Handler: http.HandlerFunc(echoTunnel), Timeouts: limits(), Log: quiet()})
				wait := background(func() { _ = s.Serve(p) })
				conn := p.connect(t)
				openTunnel(t, conn)
				leave := time.AfterFunc(leaves, func() { conn.Close() })
				defer leave.Stop()
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				began := time.Now()
				err := s.Shutdown(ctx)
				want := min(leaves, 10*time.Minute)
				if d := time.Since(began); d != want || (err != nil) != (leaves > want) {
					t.Errorf("drained in %v, %v; want %v", d, err, want)
				}
				if _, err := conn.Read(make([]byte, 1)); err == nil || time.Since(began) != want {
					t.Errorf("the tunnel ends after %v, %v", time.Since(began), err)
				}
				wait()
			})
		})
	}
}

// A tunnel whose client does not take what comes is closed.
func TestStalledTunnel(t *testing.T) {
	bubble(t, echoTunnel, func(t *testing.T, _ *Server, p *pipes) {
		conn := p.connect(t)
		openTunnel(t, conn)
		if _, err := io.WriteString(conn, "not taken"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err := conn.Write(make([]byte, 64<<10)) // until the other end reads no more
		for err == nil {
			_, err = conn.Write(make([]byte, 64<<10))
		}
		if d := time.Since(began); d != limits().Write {
			t.Errorf("closed after %v, want %v", d, limits().Write)
		}
	})
}

// A tunnel through which nothing goes is closed, by the time since anything went either way; and the request ends, so that the other end is
// closed too where only that has anything left to say.
func TestIdleTunnel(t *testing.T) {
	ended := make(chan time.Time, 1)
	waiting := func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- time.Now() }()
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(conn, conn) // not by what was buffered: an error of that ends the request by itself
		<-r.Context().Done()
	}
	bubble(t, waiting, func(t *testing.T, s *Server, p *pipes) {
		conn := p.connect(t)
		read := openTunnel(t, conn)
		for range 5 {
			time.Sleep(limits().Tunnel - time.Second)
			if _, err := io.WriteString(conn, "more\n"); err != nil {
				t.Fatal(err)
			}
			if line, err := read.ReadString('\n'); line != "more\n" {
				t.Fatalf("%q, %v", line, err)
			}
		}
		began := time.Now()
		if d := elapsed(conn); d != limits().Tunnel {
			t.Errorf("closed after %v, want %v", d, limits().Tunnel)
		}
		if d := (<-ended).Sub(began); d != limits().Tunnel {
			t.Errorf("the request ended after %v, want %v", d, limits().Tunnel)
		}
		if open, _ := s.Connections(); open != 0 {
			t.Errorf("%d connections", open)
		}
	})
}

// A tunnel by which only the server tells something, as of a feed, is not idle.
func TestTunnelOfAFeed(t *testing.T) {
	const lines = 3
	feed := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		for range lines {
			time.Sleep(limits().Tunnel - time.Second)
			_, _ = io.WriteString(conn, "news\n")
		}
	}
	bubble(t, feed, func(t *testing.T, _ *Server, p *pipes) {
		conn := p.connect(t)
		if _, err := io.WriteString(conn, askTunnel); err != nil {
			t.Fatal(err)
		}
		read := bufio.NewReader(conn)
		if res, err := http.ReadResponse(read, nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("%v, %v", res, err)
		}
		for i := range lines {
			if line, err := read.ReadString('\n'); line != "news\n" {
				t.Fatalf("line %d: %q, %v", i, line, err)
			}
		}
	})
}

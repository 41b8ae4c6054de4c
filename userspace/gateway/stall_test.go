package gateway

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// checkWrite checks how long a write was waited for that may take so long.
func checkWrite(t *testing.T, got, want time.Duration) {
	t.Helper()
	if got < want || got > want*9/8 {
		t.Errorf("ended after %v, want %v to an eighth more", got, want)
	}
}

// What net/http writes when the handler has returned, and what it writes at once of a status 1xx, is waited for no longer than for
// other writes, also in the second request of a connection.
func TestStalledHead(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"end": func(http.ResponseWriter, *http.Request) {},
		"early hints": func(w http.ResponseWriter, r *http.Request) {
			for r.URL.Path == "/stalled" && r.Context().Err() == nil {
				w.WriteHeader(http.StatusEarlyHints)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, h, func(t *testing.T, s *Server, p *pipes) {
				conn := p.connect(t)
				ask(t, conn, bufio.NewReader(conn))
				time.Sleep(limits().Idle - time.Second) // longer than a write may take
				if _, err := io.WriteString(conn, "GET /stalled HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				for s.conns.len() > 0 && time.Since(began) < 2*limits().Write {
					time.Sleep(time.Millisecond)
				}
				checkWrite(t, time.Since(began), limits().Write)
			})
		})
	}
}

// Nothing ticks while there are no connections, and ticks come again with them.
func TestClockOfWrites(t *testing.T) {
	bubble(t, who, func(t *testing.T, s *Server, p *pipes) {
		ticks := func() int64 {
			before := s.conns.clock.ticks.Load()
			time.Sleep(limits().Write)
			synctest.Wait()
			return s.conns.clock.ticks.Load() - before
		}
		for range 2 {
			if n := ticks(); n != 0 {
				t.Errorf("%d ticks of no connection", n)
			}
			conn := p.connect(t)
			ask(t, conn, bufio.NewReader(conn))
			if n := ticks(); n != ticksOfWrite {
				t.Errorf("%d ticks, want %d", n, ticksOfWrite)
			}
			conn.Close()
			ticks() // the last one finds that there is none
		}
	})
}

// A server that does not read is given up, and one that reads gets as much time for each write.
func TestServerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := &serverConn{Conn: ours, write: 8 * time.Second}
		defer c.Close()
		for _, pause := range []time.Duration{0, time.Second, 7 * time.Second, 100 * time.Second} {
			time.Sleep(pause)
			wait := background(func() {
				time.Sleep(c.write - time.Millisecond)
				_, _ = io.ReadFull(theirs, make([]byte, 1))
			})
			if _, err := c.Write([]byte("a")); err != nil {
				t.Errorf("after %v: %v", pause, err)
			}
			wait()
		}
		began := time.Now()
		if _, err := c.Write([]byte("a")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%v, want a time-out", err)
		}
		checkWrite(t, time.Since(began), c.write)
	})
}

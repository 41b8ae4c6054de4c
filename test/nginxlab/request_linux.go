package nginxlab

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/headgate/headgate/test/vectors"
)

// tick is a path without limits.
const tick = "/tick"

// Answer is what nginx did with a request.
type Answer struct {
	// Status is that of HTTP, 0 as long as the request is delayed.
	Status int
	// Verdict is $limit_req_status, also empty as long as the request is delayed.
	Verdict string
	// Lookups are what it asked its zones, in order.
	Lookups []vectors.LimitReqLookup
	// Delay is how long it delays the request, 0 if it does not.
	Delay time.Duration
	// Freed is how many keys its zones forgot.
	Freed int

	conn       net.Conn
	connection string // as the log names it
}

// SetClock makes now the time since the machine was started.
func (s *Server) SetClock(now time.Duration) { s.clock.set(now) }

// Get sends a request and returns when nginx has answered it or has begun to delay it. One that is
// delayed must be ended with Abort or Finish before the next.
func (s *Server) Get(target string) *Answer {
	s.tb.Helper()
	conn, err := net.Dial("unix", s.path(socket))
	if err != nil {
		s.tb.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		s.tb.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.0\r\n\r\n", target); err != nil {
		s.tb.Fatal(err)
	}
	a := &Answer{conn: conn}
	s.await("the end of GET "+target, a.read)
	if a.Delay == 0 {
		s.receive(a)
	}
	return a
}

// read notes what a line tells, and reports whether nginx is done with the request for now.
func (a *Answer) read(l line) bool {
	switch {
	case strings.HasPrefix(l.text, "accept: "):
		a.connection = l.connection
	case strings.HasPrefix(l.text, "slab free: "):
		a.Freed++
	case strings.HasPrefix(l.text, "limit_req["):
		var lookup vectors.LimitReqLookup
		var whole, rest int64
		if _, err := fmt.Sscanf(l.text, "limit_req[%d]: %d %d.%d", &lookup.Zone, &lookup.RC, &whole, &rest); err == nil {
			lookup.Excess = whole*1000 + rest
			a.Lookups = append(a.Lookups, lookup)
		}
	case strings.HasPrefix(l.text, "event timer add: ") && len(a.Lookups) > 0:
		var fd, ms, then int64
		if _, err := fmt.Sscanf(l.text, "event timer add: %d: %d:%d", &fd, &ms, &then); err == nil {
			a.Delay = time.Duration(ms) * time.Millisecond
		}
		return true
	}
	return isClosed(l, a.connection)
}

// receive reads nginx's response to the end.
func (s *Server) receive(a *Answer) {
	s.tb.Helper()
	defer a.conn.Close()
	response, err := http.ReadResponse(bufio.NewReader(a.conn), nil)
	if err != nil {
		s.tb.Fatalf("nginx's response: %v; its log:\n%s", err, s.tail())
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		s.tb.Fatalf("nginx's response: %v", err)
	}
	a.Status = response.StatusCode
	a.Verdict = response.Header.Get(statusHeader)
}

// Abort ends a delayed request, as a client does that goes away.
func (s *Server) Abort(a *Answer) {
	s.tb.Helper()
	a.conn.Close()
	s.awaitClosed(a)
}

// Finish moves the clock to when a request ends that was delayed at now, and reads the response. It fails
// the test if nginx goes on with it a millisecond before.
func (s *Server) Finish(a *Answer, now time.Duration) {
	s.tb.Helper()
	s.SetClock(now + a.Delay - time.Millisecond)
	s.Get(tick)
	if s.isClosed(a) {
		s.tb.Fatalf("a request that is delayed by %v went on before; nginx's log:\n%s", a.Delay, s.tail())
	}
	s.SetClock(now + a.Delay)
	s.Get(tick) // nginx looks at its clock when something happens
	s.awaitClosed(a)
	s.receive(a)
}

func (s *Server) awaitClosed(a *Answer) {
	s.tb.Helper()
	if !s.isClosed(a) {
		s.await("the end of a delayed request", func(l line) bool { return isClosed(l, a.connection) })
	}
}

package gateway

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/seldom"
)

// conns bounds the connections of a server. A slow client costs its connection, and when there are too many of
// them, those that have waited longest without a whole request go: a client that sends one is hit only after all others.
type conns struct {
	tunnels *tunnels
	clock   writeClock
	log     *slog.Logger
	seldom  seldom.Event

	mu      sync.Mutex
	most    int
	places  map[net.Conn]*place
	waiting place // the ring of those that wait for a request: next is the one that has waited longest
}

// place is that of a connection among those that wait, or of none if it has a request.
type place struct {
	conn       net.Conn
	prev, next *place // nil for none

	clock   *writeClock
	writing atomic.Int64 // the tick in which the write under way began, 0 for none
}

func newConns(most int, write time.Duration, t *tunnels, log *slog.Logger) *conns {
	c := &conns{most: most, tunnels: t, log: log, places: make(map[net.Conn]*place)}
	c.waiting.prev, c.waiting.next = &c.waiting, &c.waiting
	c.clock.start(write)
	return c
}

// add makes a place for a connection that is new, and waits for nothing yet.
func (c *conns) add(conn net.Conn) *place {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &place{conn: conn, clock: &c.clock}
	c.places[conn] = p
	if !c.clock.runs {
		c.runClock()
	}
	return p
}

// follow is http.Server.ConnState.
func (c *conns) follow(conn net.Conn, state http.ConnState) {
	if state == http.StateNew {
		c.makeRoom(conn)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.places[conn]
	if p == nil {
		return // it has made room, and is about to be closed
	}
	p.leave()
	switch state {
	case http.StateNew, http.StateIdle:
		p.endWrite()
		p.join(&c.waiting)
	case http.StateHijacked, http.StateClosed:
		delete(c.places, conn)
	}
}

// len returns how many there are, tunnels left out.
func (c *conns) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.places)
}

// join makes p the last of a ring.
func (p *place) join(ring *place) {
	p.prev, p.next = ring.prev, ring
	p.prev.next, p.next.prev = p, p
}

func (p *place) leave() {
	if p.next != nil {
		p.prev.next, p.next.prev = p.next, p.prev
		p.prev, p.next = nil, nil
	}
}

// bound changes how many there are at most. Where there are more, the next new one makes them so many.
func (c *conns) bound(most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = most
}

// makeRoom closes connections if there are too many: those that have waited longest, or else the new one.
func (c *conns) makeRoom(conn net.Conn) {
	for {
		victim, most := c.victim(conn)
		if victim == nil {
			return
		}
		// Its state follows when its goroutine finds it closed.
		_ = closeRaw(victim)
		if times, ok := c.seldom.Now(); ok {
			c.log.Warn("too many connections; one was closed to make room", "most", most, "closed", times)
		}
		if victim == conn {
			return
		}
	}
}

// victim returns a connection that has to go for conn, which is one of them, nil if none has, and how many there may be.
func (c *conns) victim(conn net.Conn) (net.Conn, int) {
	tunnels := c.tunnels.len()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.places)+tunnels <= c.most {
		return nil, c.most
	}
	oldest := c.waiting.next
	if oldest == &c.waiting {
		return conn, c.most
	}
	oldest.leave()
	delete(c.places, oldest.conn)
	return oldest.conn, c.most
}

// closeRaw closes conn without the farewell of TLS, for which its client could let us wait.
func closeRaw(conn net.Conn) error {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	return conn.Close()
}

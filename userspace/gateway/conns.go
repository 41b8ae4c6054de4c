package gateway

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"golang.org/x/sys/unix"
)

// conns bounds the connections of a server. A slow client costs its connection, and when there are too many of
// them, those that have waited longest without a whole request go: a client that sends one is hit only after all others.
type conns struct {
	most    int
	tunnels *tunnels
	log     *slog.Logger
	seldom  seldom

	mu      sync.Mutex
	places  map[net.Conn]*place
	waiting place // the ring of those that wait for a request: next is the one that has waited longest
}

// place is that of a connection among those that wait, or of none if it has a request.
type place struct {
	conn       net.Conn
	prev, next *place // nil for none
}

func newConns(most int, t *tunnels, log *slog.Logger) *conns {
	c := &conns{most: most, tunnels: t, log: log, places: make(map[net.Conn]*place)}
	c.waiting.prev, c.waiting.next = &c.waiting, &c.waiting
	return c
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
		p = &place{conn: conn}
		c.places[conn] = p
	}
	p.leave()
	switch state {
	case http.StateNew, http.StateIdle:
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

// makeRoom closes a connection if there are too many: that which has waited longest, or else the new one.
func (c *conns) makeRoom(conn net.Conn) {
	victim := c.victim(conn)
	if victim == nil {
		return
	}
	// Its state follows when its goroutine finds it closed.
	_ = closeRaw(victim)
	if times, ok := c.seldom.now(); ok {
		c.log.Warn("too many connections; one was closed to make room", "most", c.most, "closed", times)
	}
}

func (c *conns) victim(conn net.Conn) net.Conn {
	tunnels := c.tunnels.len()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.places)+tunnels < c.most {
		return nil
	}
	oldest := c.waiting.next
	if oldest == &c.waiting {
		return conn
	}
	oldest.leave()
	delete(c.places, oldest.conn)
	return oldest.conn
}

// defaultMaxConns returns half of the files that the process may open.
func defaultMaxConns() int {
	const unlimited = 1 << 20
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return unlimited
	}
	return int(min(files.Cur, 2*unlimited) / 2)
}

// closeRaw closes conn without the farewell of TLS, for which its client could let us wait.
func closeRaw(conn net.Conn) error {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	return conn.Close()
}

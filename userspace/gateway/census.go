package gateway

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// census counts the connections of a server, tunnels left out.
type census struct {
	mu       sync.Mutex
	accepted uint64
	ended    uint64
	silent   map[net.Conn]struct{} // those that have sent nothing yet
	silents  atomic.Int64          // how many that are; read without the lock, at each request
}

// follow is http.Server.ConnState.
func (c *census) follow(conn net.Conn, state http.ConnState) {
	if state == http.StateIdle || state == http.StateActive && c.silents.Load() == 0 {
		return // it has sent something before
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		if c.silent == nil {
			c.silent = make(map[net.Conn]struct{})
		}
		c.accepted++
		c.silent[conn] = struct{}{}
	case http.StateHijacked, http.StateClosed:
		c.ended++
		delete(c.silent, conn)
	default:
		delete(c.silent, conn)
	}
	c.silents.Store(int64(len(c.silent)))
}

// counts returns how many connections are open, how many of them have sent nothing yet, and how many there have been.
func (c *census) counts() (open, silent int, accepted uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int(c.accepted - c.ended), len(c.silent), c.accepted
}

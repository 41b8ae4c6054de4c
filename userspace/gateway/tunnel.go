package gateway

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/pires/go-proxyproto"
)

// tunnels are the connections that handlers have taken over, as for websockets. net/http knows nothing of
// them any more, so that Shutdown would not wait for them.
type tunnels struct {
	mu   sync.Mutex
	open map[*tunnel]struct{}
	none chan struct{} // closed when open becomes empty; nil if nobody waits
}

// tunnel is a connection that was taken over, and that is known until it is closed.
type tunnel struct {
	net.Conn
	write time.Duration
	of    *tunnels
}

// add returns conn, whose writes must be taken within write.
func (t *tunnels) add(conn net.Conn, write time.Duration) net.Conn {
	c := &tunnel{conn, write, t}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = make(map[*tunnel]struct{})
	}
	t.open[c] = struct{}{}
	return c
}

// len returns how many there are.
func (t *tunnels) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}

func (t *tunnels) remove(c *tunnel) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, c)
	if len(t.open) == 0 && t.none != nil {
		close(t.none)
		t.none = nil
	}
}

// wait returns when there is none, or with the error of ctx.
func (t *tunnels) wait(ctx context.Context) error {
	select {
	case <-t.empty():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// empty returns what is closed when there is none.
func (t *tunnels) empty() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.none == nil {
		t.none = make(chan struct{})
	}
	none := t.none
	if len(t.open) == 0 {
		close(none)
		t.none = nil
	}
	return none
}

// close closes all that are open.
func (t *tunnels) close() {
	t.mu.Lock()
	var open []*tunnel
	for c := range t.open {
		open = append(open, c)
	}
	t.mu.Unlock()
	for _, c := range open {
		c.Close()
	}
}

// Write implements io.Writer.
func (c *tunnel) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.write)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// CloseWrite tells the other end that nothing more comes, or closes the connection where there is no such thing.
func (c *tunnel) CloseWrite() error {
	conn := c.Conn
	if p, ok := conn.(*proxyproto.Conn); ok {
		conn = p.Raw()
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// Close implements io.Closer.
func (c *tunnel) Close() error {
	c.of.remove(c)
	return c.Conn.Close()
}

package gateway

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pires/go-proxyproto"
)

// tunnels are the connections that handlers have taken over, as for websockets. net/http knows nothing of
// them any more, so that Shutdown would not wait for them.
type tunnels struct {
	idle time.Duration // after which one ends through which nothing goes

	mu   sync.Mutex
	open map[*tunnel]struct{}
	none chan struct{} // closed when open becomes empty; nil if nobody waits
}

// tunnel is a connection that was taken over, and that is known until it is closed.
type tunnel struct {
	net.Conn
	write time.Duration
	end   context.CancelFunc // of the request, so that the other end is closed too
	of    *tunnels
	began time.Time
	moved atomic.Int64 // when something last went through, after began
	watch *time.Timer
}

// add returns conn, whose writes must be taken within write, and whose request end ends.
func (t *tunnels) add(conn net.Conn, write time.Duration, end context.CancelFunc) net.Conn {
	c := &tunnel{Conn: conn, write: write, end: end, of: t, began: time.Now()}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = make(map[*tunnel]struct{})
	}
	t.open[c] = struct{}{}
	c.watch = time.AfterFunc(t.idle, c.look)
	return c
}

// look closes c if it is idle. A timer that each read and write moved would cost more than one that looks now and then.
func (c *tunnel) look() {
	left := c.of.idle - (time.Since(c.began) - time.Duration(c.moved.Load()))
	c.of.mu.Lock()
	_, open := c.of.open[c]
	if open && left > 0 {
		c.watch.Reset(left)
	}
	c.of.mu.Unlock()
	if open && left <= 0 {
		c.Close()
	}
}

func (c *tunnel) note(n int) {
	if n > 0 {
		c.moved.Store(int64(time.Since(c.began)))
	}
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
	c.watch.Stop()
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

// Read implements io.Reader.
func (c *tunnel) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.note(n)
	return n, err
}

// Write implements io.Writer.
func (c *tunnel) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.write)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	c.note(n)
	return n, err
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

// Close implements io.Closer. It also ends the request: what is copied from its server may wait for that alone.
func (c *tunnel) Close() error {
	c.of.remove(c)
	c.end()
	return c.Conn.Close()
}

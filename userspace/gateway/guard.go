package gateway

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/headgate/headgate/userspace/httplimit"
)

// guard ends a response that its client does not take, and the body that it does not send. Server.ReadTimeout and
// WriteTimeout of net/http cannot tell a long stream from a stalled one: they are for all of it.
//
// It stands outside of all middleware, as bodies are also read by it.
type guard struct {
	http.ResponseWriter
	conn        deadlines
	place       *place // of its connection; nil for a stream of several on a connection
	read, write time.Duration
	tunnels     *tunnels
	cancel      context.CancelFunc // of the request's context; a no-op if it asks for no upgrade

	mu       sync.Mutex
	ended    bool // the handler has returned: deadlines are net/http's again
	hijacked bool
	stall    *time.Timer // of a stream: runs while something is written

	body      io.ReadCloser
	bodyEnded bool
	bodyUntil time.Time // the deadline in force
}

// deadlines are those of a connection or, of HTTP/2, of a stream.
type deadlines interface {
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// guarded returns w and r for the handler, and the guard, whose end must be called when the handler has
// returned; nil if w has no deadlines.
func guarded(w http.ResponseWriter, r *http.Request, read, write time.Duration, t *tunnels) (http.ResponseWriter, *guard) {
	conn, ok := w.(deadlines)
	if !ok {
		return w, nil
	}
	g := &guard{ResponseWriter: w, conn: conn, read: read, write: write, tunnels: t, cancel: func() {}}
	if r.ProtoMajor == 1 {
		g.place = placeOf(r.Context())
	}
	if r.Body != nil && r.Body != http.NoBody {
		g.body = r.Body
		r.Body = guardedBody{g}
	}
	if _, ok := w.(http.Hijacker); ok {
		return hijackable{g}, g
	}
	return g, g
}

// cancelable returns r with a context that a tunnel's end ends: net/http does not after the connection was taken over.
func (g *guard) cancelable(r *http.Request) *http.Request {
	ctx, cancel := context.WithCancel(r.Context())
	g.cancel = cancel
	return r.WithContext(ctx)
}

// Unwrap is for http.ResponseController.
func (g *guard) Unwrap() http.ResponseWriter { return g.ResponseWriter }

// Write implements io.Writer.
func (g *guard) Write(p []byte) (int, error) {
	g.begin()
	defer g.taken()
	return g.ResponseWriter.Write(p)
}

// WriteHeader implements http.ResponseWriter. What is informational is written at once.
func (g *guard) WriteHeader(status int) {
	if status < http.StatusOK {
		g.begin()
		defer g.taken()
	}
	g.ResponseWriter.WriteHeader(status)
}

// FlushError is for http.ResponseController.
func (g *guard) FlushError() error {
	g.begin()
	defer g.taken()
	return http.NewResponseController(g.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (g *guard) Flush() {
	_ = g.FlushError() // the next write returns it
}

// begin starts the time that a write may take. The deadline of a stream would reset it also while nothing is
// written, so that it gets one only by a timer that has run out.
func (g *guard) begin() {
	switch {
	case g.place != nil:
		g.place.beginWrite()
	case g.stall == nil:
		g.stall = time.AfterFunc(g.write, g.stalled)
	default:
		g.stall.Reset(g.write)
	}
}

// taken ends the time that begin has started.
func (g *guard) taken() {
	if g.place != nil {
		g.place.endWrite()
	} else {
		g.stall.Stop()
	}
}

// stalled makes the write that is under way fail, and all that follow.
func (g *guard) stalled() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		_ = g.conn.SetWriteDeadline(time.Now())
	}
}

// end leaves deadlines for what net/http still does: it writes what it has buffered, until the connection is idle, and reads on in
// a body that nobody has read.
func (g *guard) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	g.cancel()
	if g.hijacked {
		return
	}
	// Errors are of connections that have ended.
	if g.place != nil {
		g.place.beginWrite()
	} else {
		_ = g.conn.SetWriteDeadline(time.Now().Add(g.write))
	}
	if g.body != nil && !g.bodyEnded {
		_ = g.conn.SetReadDeadline(time.Now().Add(g.read))
	}
}

// guardedBody is a body whose next bytes must come in time.
type guardedBody struct{ g *guard }

// Read implements io.Reader.
func (b guardedBody) Read(p []byte) (int, error) {
	b.g.awaitBody()
	n, err := b.g.body.Read(p)
	if err == io.EOF {
		b.g.endBody()
	}
	return n, err
}

// MayReadAhead is for httplimit.MayReadAhead: what a guard does, it does locked.
func (b guardedBody) MayReadAhead() bool { return httplimit.MayReadAhead(b.g.body) }

// Close implements io.Closer.
func (b guardedBody) Close() error { return b.g.body.Close() }

// awaitBody moves the deadline on, unless enough time is left: an eighth more is given so that
// fast bodies cost nothing.
func (g *guard) awaitBody() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); !g.ended && g.bodyUntil.Sub(now) < g.read {
		g.bodyUntil = now.Add(g.read + g.read/8)
		_ = g.conn.SetReadDeadline(g.bodyUntil)
	}
}

// endBody lifts the deadline. net/http reads on, to notice when the client leaves, which may take long.
func (g *guard) endBody() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bodyEnded = true
	if !g.ended {
		_ = g.conn.SetReadDeadline(time.Time{})
	}
}

// hijackable is a guard of a connection that can be taken over.
type hijackable struct{ *guard }

// Hijack implements http.Hijacker.
func (h hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return conn, buffered, err
	}
	h.mu.Lock()
	h.hijacked = true
	h.mu.Unlock()
	return h.tunnels.add(conn, h.write, h.cancel), buffered, nil
}

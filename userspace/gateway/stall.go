package gateway

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// A connection of HTTP/1 whose client takes nothing of what is written ends. A deadline for each write would cost each request a
// timer; this costs it a number, that of the tick in which the write began, which each tick looks at.

// ticksOfWrite is how many ticks a write may take. As it begins between two of them it gets up to one more.
const ticksOfWrite = 8

// placeKey is the key of a connection's place in the context of its requests.
type placeKey struct{}

// withPlace makes a place for a connection, and returns ctx with it.
func (c *conns) withPlace(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, placeKey{}, c.add(conn))
}

// placeOf returns the place of the connection that a request has come on; nil if none is known.
func placeOf(ctx context.Context) *place {
	p, _ := ctx.Value(placeKey{}).(*place)
	return p
}

// writeClock counts the ticks of a server.
type writeClock struct {
	ticks atomic.Int64 // from 1
	every time.Duration
	runs  bool // there are connections to look at, or were at the last tick
}

func (w *writeClock) start(write time.Duration) {
	w.every = write / ticksOfWrite
	w.ticks.Store(1)
}

// beginWrite is for before what the client has to take.
func (p *place) beginWrite() { p.writing.Store(p.clock.ticks.Load()) }

// endWrite is for after that.
func (p *place) endWrite() { p.writing.Store(0) }

// runClock makes ticks come, until there are no connections. c is locked.
func (c *conns) runClock() {
	if c.clock.runs = len(c.places) > 0; c.clock.runs {
		time.AfterFunc(c.clock.every, c.tick)
	}
}

// tick closes connections that have written for too long.
func (c *conns) tick() {
	for _, conn := range c.stalled(c.clock.ticks.Add(1)) {
		_ = closeRaw(conn)
	}
}

// stalled returns the connections that have written for too long when it is tick now.
func (c *conns) stalled(now int64) (all []net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn, p := range c.places {
		if began := p.writing.Load(); began != 0 && now-began > ticksOfWrite {
			all = append(all, conn)
		}
	}
	c.runClock()
	return all
}

package event

import (
	"sync"
	"sync/atomic"
)

// queue is how many events wait for a listener.
const queue = 1024

// Bus brings events to all listeners. The zero value is ready; all methods may be called at the same time.
type Bus struct {
	lost      atomic.Uint64
	mu        sync.Mutex
	listeners map[*Listener]struct{}
}

// Listener gets the events of a Bus from the moment on at which it was made.
type Listener struct {
	bus  *Bus
	c    chan Event
	lost uint64 // guarded by bus.mu
}

// Publish gives e to all listeners, without waiting for any.
func (b *Bus) Publish(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for l := range b.listeners {
		e.Lost = l.lost
		select {
		case l.c <- e:
			l.lost = 0
		default:
			l.lost++
			b.lost.Add(1)
		}
	}
}

// Lost returns how many events listeners have lost so far, all together.
func (b *Bus) Lost() uint64 { return b.lost.Load() }

// Listen returns a new listener. The caller must Close it.
func (b *Bus) Listen() *Listener {
	l := &Listener{bus: b, c: make(chan Event, queue)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners == nil {
		b.listeners = make(map[*Listener]struct{})
	}
	b.listeners[l] = struct{}{}
	return l
}

// Events returns where the events come; it is closed by Close.
func (l *Listener) Events() <-chan Event { return l.c }

// Close ends the listener. It may be called twice.
func (l *Listener) Close() {
	l.bus.mu.Lock()
	defer l.bus.mu.Unlock()
	if _, open := l.bus.listeners[l]; open {
		delete(l.bus.listeners, l)
		close(l.c)
	}
}

package redislab

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy is a TCP connection to a server that can be made slow, deaf or talk nonsense.
type Proxy struct {
	Addr string

	delay    atomic.Int64 // of what the server says
	garble   atomic.Bool
	to       string
	listener net.Listener
	mu       sync.Mutex
	open     map[net.Conn]struct{}
}

// NewProxy returns a proxy to the address. It ends with the test.
func NewProxy(tb testing.TB, to string) *Proxy {
	tb.Helper()
	p, err := Listen(tb.Context(), to)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}

// Listen returns a proxy to the address, for programs that are no tests.
func Listen(ctx context.Context, to string) (*Proxy, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Addr: l.Addr().String(), to: to, listener: l, open: map[net.Conn]struct{}{}}
	go p.accept()
	return p, nil
}

// Close ends the proxy.
func (p *Proxy) Close() {
	p.listener.Close()
	p.Cut()
}

// Delay makes all that the server says from now on come so much later.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

// Garble makes what the server says nonsense from now on, or no longer.
func (p *Proxy) Garble(on bool) { p.garble.Store(on) }

// Cut ends all connections. New ones are taken.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.Close()
	}
	clear(p.open)
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(client)
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.open[client], p.open[server] = struct{}{}, struct{}{}
	p.mu.Unlock()
	go func() {
		// Between two sockets themselves it would be by pipes, which the library keeps open for a while.
		_, _ = io.Copy(struct{ io.Writer }{server}, client)
		server.Close()
	}()
	p.answer(client, server)
	p.mu.Lock()
	delete(p.open, client)
	delete(p.open, server)
	p.mu.Unlock()
}

// said is what the server said, and when it may be heard.
type said struct {
	text []byte
	at   time.Time
}

// answer carries what the server says, each piece as late as Delay wants, and none before another.
func (p *Proxy) answer(client, server net.Conn) {
	late := make(chan said, 1<<16)
	var writer sync.WaitGroup
	writer.Go(func() {
		for s := range late {
			time.Sleep(time.Until(s.at))
			if _, err := client.Write(s.text); err != nil {
				server.Close()
			}
		}
	})
	defer writer.Wait()
	defer close(late)
	for {
		b := make([]byte, 32<<10)
		n, err := server.Read(b)
		if err != nil {
			return
		}
		if p.garble.Load() {
			for i := range n {
				b[i] ^= 0x55
			}
		}
		late <- said{b[:n], time.Now().Add(time.Duration(p.delay.Load()))}
	}
}

package envoy

import (
	"net"
	"sync"
	"sync/atomic"
)

// mostStrangers is how many connections of peers that may not ask a listener has at a time: enough for who looks whether
// the server is healthy, and too few to leave the process without files for gateways.
const mostStrangers = 64

// entrance is a listener that closes connections of strangers beyond mostStrangers at once. Those of gateways are not
// bounded.
type entrance struct {
	net.Listener
	server    *Server
	strangers atomic.Int64
}

// Accept implements net.Listener.
func (e *entrance) Accept() (net.Conn, error) {
	for {
		conn, err := e.Listener.Accept()
		if err != nil || e.server.options.Load().admit(conn.RemoteAddr()) {
			return conn, err
		}
		leave := sync.OnceFunc(func() { e.strangers.Add(-1) })
		if e.strangers.Add(1) <= mostStrangers {
			return stranger{conn, leave}, nil
		}
		leave()
		conn.Close()
	}
}

// stranger is a connection that is counted until it is closed.
type stranger struct {
	net.Conn
	leave func()
}

// Close implements io.Closer.
func (s stranger) Close() error {
	s.leave()
	return s.Conn.Close()
}

package httplimit

import (
	"crypto/tls"
	"net"
	"runtime"
)

// releasing returns conn, made to call release when it has been closed. As who hijacks a connection may forget
// to close it, release is also called when nobody can any more; the connection itself is closed by package
// net then.
//
// What else a connection can do is kept for the types that servers have: splice(2) needs ReadFrom and
// WriteTo, proxies CloseWrite, and what looks at a socket SyscallConn.
func releasing(conn net.Conn, release func()) net.Conn {
	switch conn := conn.(type) {
	case *net.TCPConn:
		return watched(&tcpConn{conn, release}, release)
	case *net.UnixConn:
		return watched(&unixConn{conn, release}, release)
	case *tls.Conn:
		return watched(&tlsConn{conn, release}, release)
	case halfCloser:
		return watched(&halfConn{conn, release}, release)
	default:
		return watched(&anyConn{conn, release}, release)
	}
}

// watched returns c. release must not lead to c.
func watched[T any](c *T, release func()) *T {
	runtime.AddCleanup(c, func(release func()) { release() }, release)
	return c
}

type halfCloser interface {
	net.Conn
	CloseWrite() error
}

type (
	tcpConn struct {
		*net.TCPConn
		release func()
	}
	unixConn struct {
		*net.UnixConn
		release func()
	}
	tlsConn struct {
		*tls.Conn
		release func()
	}
	halfConn struct {
		halfCloser
		release func()
	}
	anyConn struct {
		net.Conn
		release func()
	}
)

func (c *tcpConn) Close() error  { defer c.release(); return c.TCPConn.Close() }
func (c *unixConn) Close() error { defer c.release(); return c.UnixConn.Close() }
func (c *tlsConn) Close() error  { defer c.release(); return c.Conn.Close() }
func (c *halfConn) Close() error { defer c.release(); return c.halfCloser.Close() }
func (c *anyConn) Close() error  { defer c.release(); return c.Conn.Close() }

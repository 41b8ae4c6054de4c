package gateway

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/pires/go-proxyproto"

	"github.com/headgate/headgate/userspace/gateway/internal/peers"
)

// expectHeader returns l, whose connections from some addresses begin with a header of the PROXY protocol, version 1 or 2. From others
// it is no header, but the beginning of a request that is none.
func expectHeader(l net.Listener, from []netip.Prefix, timeout time.Duration) net.Listener {
	return &proxyproto.Listener{
		Listener:          &tellers{l, from},
		ReadHeaderTimeout: timeout,
		ConnPolicy: func(o proxyproto.ConnPolicyOptions) (proxyproto.Policy, error) {
			if peers.Among(from, peers.Addr(o.Upstream)) {
				return proxyproto.REQUIRE, nil
			}
			return proxyproto.SKIP, nil
		},
	}
}

// tellers is a listener whose connections from some addresses may also tell that they are for somebody without an address.
type tellers struct {
	net.Listener
	from []netip.Prefix
}

// Accept implements net.Listener.
func (t *tellers) Accept() (net.Conn, error) {
	conn, err := t.Listener.Accept()
	if err != nil || !peers.Among(t.from, peers.Addr(conn.RemoteAddr())) {
		return conn, err
	}
	return &teller{Conn: conn}, nil
}

// teller is a connection that begins with a header. One of version 2 whose command is PROXY and whose family is none
// is read as one whose command is LOCAL, so that the connection's own address counts: the protocol leaves it to the receiver to do that or to
// refuse it, go-proxyproto refuses it, and load balancers send it of clients that they have no address of.
type teller struct {
	net.Conn
	begun bool
}

// The first bytes of a header of version 2. No header, of either version, is shorter.
const (
	signature  = "\r\n\r\n\x00\r\nQUIT\n"
	commandAt  = len(signature)
	familyAt   = commandAt + 1
	leastBytes = familyAt + 1

	commandLocal, commandProxy = 0x20, 0x21
)

// Read implements io.Reader. go-proxyproto wants a header of version 1 whole, so that what there is goes on at once.
func (t *teller) Read(p []byte) (int, error) {
	if t.begun {
		return t.Conn.Read(p)
	}
	t.begun = true
	n, err := io.ReadAtLeast(t.Conn, p, leastBytes)
	if errors.Is(err, io.ErrUnexpectedEOF) { // it is no header, which the next reader says
		return n, nil
	}
	if first := p[:n]; err == nil && bytes.HasPrefix(first, []byte(signature)) &&
		first[commandAt] == commandProxy && first[familyAt] == byte(proxyproto.UNSPEC) {
		first[commandAt] = commandLocal
	}
	return n, err
}

// CloseWrite is for tunnels.
func (t *teller) CloseWrite() error {
	if half, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return t.Close()
}

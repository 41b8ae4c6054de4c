package gateway

import (
	"fmt"
	"net"
	"os"

	"github.com/headgate/headgate/userspace/config"
)

// Open opens the bare socket of l, for Dup and Wrap: a reload keeps it while TLS, the PROXY protocol or the server change, so that
// no connection is refused. Errors and unix sockets are as with Listen.
func Open(l config.Listener, o ListenOptions) (net.Listener, error) {
	base, err := listen(l, o)
	if err != nil {
		return nil, fmt.Errorf("listen on %s %q: %w", l.Network, l.Address, err)
	}
	return base, nil
}

// Wrap puts TLS and the PROXY protocol around a socket, if l says so. After an error base is as it was.
func Wrap(base net.Listener, l config.Listener, o ListenOptions) (net.Listener, error) {
	wrapped, err := wrap(base, l, o)
	if err != nil {
		return nil, fmt.Errorf("listen on %s %q: %w", l.Network, l.Address, err)
	}
	return wrapped, nil
}

// Dup returns another listener on the socket that Open opened. Each connection is accepted by one of them; closing one leaves the others
// as they are. A unix socket's file goes with the one that Open returned.
func Dup(base net.Listener) (net.Listener, error) {
	socket, ok := base.(interface{ File() (*os.File, error) })
	if !ok {
		return nil, fmt.Errorf("a %T has no socket to listen on once more", base)
	}
	f, err := socket.File()
	if err != nil {
		return nil, fmt.Errorf("duplicate the socket of %s: %w", base.Addr(), err)
	}
	defer f.Close()
	return inheritedListener(f)
}

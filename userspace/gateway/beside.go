package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/userspace/config"
)

// OpenBeside is Open for TCP where listeners of this process that are about to be closed are in the way: 0.0.0.0:80 takes
// 127.0.0.1:80 too. Both listen until they are, so that no connection is refused; who connects gets the one whose address says
// more. Of others only those that Open or OpenBeside has returned for TCP count. From then on other processes of the same user may
// listen there as well, if they ask for that (SO_REUSEPORT).
func OpenBeside(l config.Listener, others []net.Listener, o ListenOptions) (net.Listener, error) {
	if l.Network != config.NetworkTCP {
		return Open(l, o)
	}
	for _, other := range others {
		c, is := other.(*net.TCPListener)
		if !is {
			continue
		}
		if err := sharePort(c); err != nil {
			return nil, fmt.Errorf("listen on %s %q: make room: %w", l.Network, l.Address, err)
		}
	}
	sharing := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return setPort(c) }}
	base, err := sharing.Listen(context.Background(), l.TCP(), l.Address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s %q: %w", l.Network, l.Address, err)
	}
	return base, nil
}

// sharePort lets sockets of this user that say so too listen on the same port.
func sharePort(c syscall.Conn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	return setPort(raw)
}

func setPort(c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
	return errors.Join(err, failed)
}

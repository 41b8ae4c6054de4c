package part

import (
	"errors"
	"net/netip"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	connections = 16
	// knocksAtOnce is how many there are at each knockEvery: 40,000 a second.
	knocksAtOnce = 400
	knockEvery   = 10 * time.Millisecond
)

// flooder sends requests on several connections, on all at once, as soon as it has all answers. When
// it is cut off on all of them it asks for new ones, as often as it can.
type flooder struct {
	script Script
	conns  []*conn
}

func (f *flooder) act() (Seen, error) {
	if len(f.conns) > 0 && !slices.ContainsFunc(f.conns, func(c *conn) bool { return !c.cut }) {
		return f.knocks()
	}
	for len(f.conns) < connections {
		c, err := dial(f.script)
		if err != nil {
			return Seen{}, err
		}
		f.conns = append(f.conns, c)
	}
	return f.round()
}

// round sends a request on each connection that is not cut, and waits for what becomes of it.
func (f *flooder) round() (seen Seen, err error) {
	var open []*conn
	for _, c := range f.conns {
		if !c.cut {
			open = append(open, c)
		}
	}
	seen.Start = bootTime()
	for _, c := range open {
		if err := c.ask(); err != nil {
			return seen, err
		}
	}
	for _, c := range open {
		if err := c.answer(&seen); err != nil {
			return seen, err
		}
	}
	seen.End = bootTime()
	return seen, nil
}

// knocks asks for new connections.
func (f *flooder) knocks() (seen Seen, err error) {
	seen.Start = bootTime()
	for range knocksAtOnce {
		entered, err := knock(f.script.From, f.script.Server)
		if err != nil {
			return seen, err
		}
		seen.Knocks++
		if entered {
			seen.Entered++
		}
	}
	time.Sleep(time.Duration(seen.Start + knockEvery.Nanoseconds() - bootTime()))
	seen.End = bootTime()
	return seen, nil
}

// rest gives up connections that are cut, as long as that cannot be heard at their other end.
func (f *flooder) rest() {
	f.conns = slices.DeleteFunc(f.conns, func(c *conn) bool {
		if c.cut {
			c.abandon()
		}
		return c.cut
	})
}

// knock asks for a connection with one packet, and does not wait for the answer: in the same kernel it
// is there when the packet is sent.
func knock(from netip.Addr, to netip.AddrPort) (entered bool, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
		return false, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: from.As4()}); err != nil {
		return false, err
	}
	server := &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}
	if err := unix.Connect(fd, server); !errors.Is(err, unix.EINPROGRESS) {
		return answered(err)
	}
	return answered(unix.Connect(fd, server))
}

// answered reports whether an attempt to connect was answered, if only by a refusal.
func answered(err error) (bool, error) {
	switch {
	case errors.Is(err, unix.EALREADY):
		return false, nil
	case err == nil, errors.Is(err, unix.EISCONN), errors.Is(err, unix.ECONNREFUSED):
		return true, nil
	default:
		return false, os.NewSyscallError("connect", err)
	}
}

package main

import (
	"errors"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// knocker tries to open connections, with one SYN each: it gives up before a second one would follow.
type knocker struct {
	to            unix.SockaddrInet4
	open          []knock // the oldest first
	tried, opened int
}

// knock is a socket that tries to connect.
type knock struct {
	fd int
	at time.Time
}

func newKnocker(to netip.AddrPort) *knocker {
	return &knocker{to: unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}}
}

// knock sends a SYN.
func (k *knocker) knock() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	if err := unix.Connect(fd, &k.to); !errors.Is(err, unix.EINPROGRESS) {
		unix.Close(fd)
		return os.NewSyscallError("connect", err)
	}
	k.tried++
	k.open = append(k.open, knock{fd, time.Now()})
	return nil
}

// giveUp closes the sockets that have waited long enough.
func (k *knocker) giveUp(now time.Time) {
	n := 0
	for n < len(k.open) && now.Sub(k.open[n].at) >= giveUpOpening {
		k.end(k.open[n].fd)
		n++
	}
	k.open = append(k.open[:0], k.open[n:]...)
}

func (k *knocker) end(fd int) {
	if _, err := unix.Getpeername(fd); err == nil {
		k.opened++
		_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // else it only ends later
	}
	unix.Close(fd)
}

// close gives all up.
func (k *knocker) close() {
	for _, one := range k.open {
		k.end(one.fd)
	}
	k.open = nil
}

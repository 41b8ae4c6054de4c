//go:build linux

package netlab

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// packetSocket opens a raw packet socket on the interface, for frames of the
// EtherType protocol; 0 receives none and unix.ETH_P_ALL receives all. The
// protocol is set last, together with the interface, so that no frame of
// another interface gets in before.
func (e *End) packetSocket(protocol uint16, options []option) (fd int, err error) {
	err = e.Namespace.Do(func() error {
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		return os.NewSyscallError("socket", err)
	})
	if err != nil {
		return -1, err
	}
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("setsockopt %d, %d: %w", o.level, o.name, err)
		}
	}
	address := &unix.SockaddrLinklayer{Protocol: networkOrder(protocol), Ifindex: e.Index}
	if err := unix.Bind(fd, address); err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("bind", err)
	}
	return fd, nil
}

func networkOrder(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

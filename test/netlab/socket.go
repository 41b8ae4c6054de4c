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

// olderSocket opens a packet socket that takes no frame. While there is one that
// is older than the one that counts, the latter gets all frames in their order.
//
// A busy kernel hands frames to the network stack as a list. The stack goes
// through the list and gives each frame at once to all that want it but the last,
// which gets it when the frame behind has another last one. For an IP packet
// the last one is IP. For a frame that no protocol wants, such as a mark, it is the
// oldest packet socket: if that counted, the IP packet behind a mark would
// overtake it.
func (e *End) olderSocket() (*os.File, error) {
	fd, err := e.packetSocket(unix.ETH_P_ALL, []option{{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1}})
	if err != nil {
		return nil, err
	}
	nothing := &unix.SockFprog{Len: 1, Filter: &unix.SockFilter{Code: unix.BPF_RET}}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, nothing); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("setsockopt SO_ATTACH_FILTER", err)
	}
	return os.NewFile(uintptr(fd), "older packet socket"), nil
}

func networkOrder(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

//go:build linux

package netlab

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SetGRO turns generic receive offload on or off, which merges TCP segments that
// arrive together into one super-packet. A veth starts with it off, but in older
// kernels, 5.15 among them, attaching a native XDP program turns it on: turn it
// off after that to have each frame counted as it came.
func (e *End) SetGRO(on bool) error {
	return e.setOffload("generic receive offload", unix.ETHTOOL_SGRO, on)
}

// SetTSO turns TCP segmentation offload on or off, by which TCP hands super-packets to the
// interface. As long as it is on, the kernel takes TCP for merged already: the other end does not
// use NAPI for it without a native XDP program, whether it has generic receive offload on or not.
func (e *End) SetTSO(on bool) error {
	return e.setOffload("TCP segmentation offload", unix.ETHTOOL_STSO, on)
}

func (e *End) setOffload(what string, cmd uint32, on bool) error {
	value := uint32(0)
	if on {
		value = 1
	}
	if err := e.Namespace.Do(func() error { return ethtoolSet(e.Name, cmd, value) }); err != nil {
		return fmt.Errorf("set %s of %s to %t: %w", what, e.Name, on, err)
	}
	return nil
}

// ethtoolValue is struct ethtool_value of linux/ethtool.h.
type ethtoolValue struct {
	cmd, data uint32
}

// ethtoolRequest is struct ifreq of linux/if.h with a pointer in its union.
type ethtoolRequest struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [24 - unsafe.Sizeof(uintptr(0))]byte
}

func ethtoolSet(ifname string, cmd, data uint32) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	value := &ethtoolValue{cmd: cmd, data: data}
	request := ethtoolRequest{data: unsafe.Pointer(value)}
	copy(request.name[:unix.IFNAMSIZ-1], ifname)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	runtime.KeepAlive(value)
	if errno != 0 {
		return os.NewSyscallError("ioctl SIOCETHTOOL", errno)
	}
	return nil
}

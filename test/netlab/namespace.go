//go:build linux

package netlab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// threadNamespace is the network namespace of the thread that opens it.
const threadNamespace = "/proc/thread-self/ns/net"

// Namespace is a network namespace without a name. Its methods may be called
// from several goroutines, but not after Close.
type Namespace struct {
	file *os.File
}

// New makes a network namespace with nothing in it but a loopback interface,
// which is up.
func New() (*Namespace, error) {
	ns := &Namespace{}
	err := onThread(func() error { return unix.Unshare(unix.CLONE_NEWNET) }, func() (err error) {
		if ns.file, err = os.Open(threadNamespace); err != nil {
			return err
		}
		return errors.Join(quiet("default"), loopbackUp())
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("new network namespace: %w", err), ns.Close())
	}
	return ns, nil
}

// Close lets go of the namespace. The kernel removes it, and the interfaces in
// it, some time after the last socket in it is closed too.
func (ns *Namespace) Close() error {
	if ns.file == nil {
		return nil
	}
	return ns.file.Close()
}

// FD returns a file descriptor of the namespace, which Close closes.
func (ns *Namespace) FD() int { return int(ns.file.Fd()) }

// Do runs fn in the namespace, on the calling goroutine, and returns its error.
// Sockets that fn opens stay in the namespace. Goroutines that fn starts do not
// run in it.
//
// The goroutine is back in its own namespace when Do returns, and also when fn
// panics. Should that fail, Do returns an error and leaves the goroutine locked
// to its thread, so that no other goroutine ever runs in the wrong namespace;
// the caller should then return from the goroutine.
func (ns *Namespace) Do(fn func() error) error {
	return onThread(func() error { return setns(ns.file) }, fn)
}

// onThread runs enter, which moves the thread to another namespace, then fn,
// and moves the thread back.
func onThread(enter, fn func() error) (err error) {
	runtime.LockOSThread()
	home, err := os.Open(threadNamespace)
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("open own network namespace: %w", err)
	}
	defer home.Close()
	if err := enter(); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter network namespace: %w; this needs root", err)
	}
	defer func() {
		if back := setns(home); back != nil {
			err = errors.Join(err, fmt.Errorf("return to own network namespace: %w", back))
			return
		}
		runtime.UnlockOSThread()
	}()
	return fn()
}

func setns(f *os.File) error {
	return os.NewSyscallError("setns", unix.Setns(int(f.Fd()), unix.CLONE_NEWNET))
}

func loopbackUp() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find lo: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("set lo up: %w", err)
	}
	return nil
}

// quiet turns IPv6 off on an interface of the current namespace, as it sends
// neighbour discovery and multicast listener frames that nobody asked for. For
// "default", interfaces made later start that way.
func quiet(ifname string) error { return setIPv6(ifname, "disable_ipv6", 1) }

// setIPv6 writes an IPv6 setting of an interface. A kernel without IPv6 is
// quiet already.
func setIPv6(ifname, setting string, value int) error {
	path := filepath.Join("/proc/sys/net/ipv6/conf", ifname, setting)
	err := os.WriteFile(path, []byte(strconv.Itoa(value)), 0)
	if errors.Is(err, fs.ErrNotExist) && !kernelHasIPv6() {
		return nil
	}
	return err
}

func kernelHasIPv6() bool {
	_, err := os.Stat("/proc/sys/net/ipv6")
	return err == nil
}

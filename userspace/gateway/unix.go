package gateway

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/userspace/config"
)

// unixListener removes its file when it is closed, unless that has become another's.
type unixListener struct {
	*net.UnixListener
	path string
	file fs.FileInfo
	once sync.Once
}

// listenUnix listens on a unix socket at path, whose file is for those of access from the first moment on: it is made in a
// directory that nobody else can enter, and moved to its place. That also replaces a socket that is left over in one step.
func listenUnix(path string, access config.Access) (net.Listener, error) {
	if err := checkFree(path); err != nil {
		return nil, err
	}
	if err := makeDirectory(path); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	hidden := filepath.Join(dir, "s")
	base, err := net.ListenUnix("unix", &net.UnixAddr{Name: hidden, Net: "unix"})
	if err != nil {
		return nil, tooLong(err, hidden)
	}
	base.SetUnlinkOnClose(false)
	l := &unixListener{UnixListener: base, path: path}
	if err := l.publish(hidden, access); err != nil {
		base.Close()
		return nil, err
	}
	return l, nil
}

// publish moves the socket to its path.
func (l *unixListener) publish(hidden string, access config.Access) error {
	gid, err := groupID(access.Group)
	if err != nil {
		return err
	}
	if err := permit(hidden, gid, modeOf(access)); err != nil {
		return err
	}
	if l.file, err = os.Lstat(hidden); err != nil {
		return err
	}
	return os.Rename(hidden, l.path)
}

// Close implements net.Listener.
func (l *unixListener) Close() error {
	err := l.UnixListener.Close()
	l.once.Do(func() {
		if now, statErr := os.Lstat(l.path); statErr == nil && os.SameFile(now, l.file) {
			err = errors.Join(err, os.Remove(l.path))
		}
	})
	return err
}

// Addr implements net.Listener.
func (l *unixListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// checkFree returns an error unless there is nothing at path, or a socket on which nobody listens.
func checkFree(path string) error {
	file, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case file.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and is no socket; remove it, or choose another path", path)
	}
	conn, err := net.Dial("unix", path)
	switch {
	case err == nil:
		conn.Close()
		return fmt.Errorf("another process listens on %s; end it, or choose another path", path)
	case errors.Is(err, unix.ECONNREFUSED):
		return nil
	default:
		return fmt.Errorf("whether somebody listens on %s: %w", path, err)
	}
}

// tooLong says what the kernel does not.
func tooLong(err error, path string) error {
	if !errors.Is(err, unix.EINVAL) {
		return err
	}
	return fmt.Errorf("%w: a path of a socket is at most 107 bytes, and %s is made first; choose a shorter one", err, path)
}

//go:build linux

package netlab

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// BPFFS is a mounted BPF file system, for objects that are to be pinned.
type BPFFS struct {
	dir string
}

// MountBPFFS mounts a new BPF file system over a directory, which must exist.
// What is pinned there is separate from every other BPF file system.
func MountBPFFS(dir string) (*BPFFS, error) {
	if err := unix.Mount("bpf", dir, "bpf", 0, "mode=0700"); err != nil {
		return nil, fmt.Errorf("mount BPF file system on %s: %w; this needs root and an existing directory", dir, err)
	}
	return &BPFFS{dir: dir}, nil
}

// Dir returns the directory.
func (b *BPFFS) Dir() string { return b.dir }

// Close unmounts the file system, and with that unpins everything in it. One
// that is in use vanishes from the directory at once, and for good when it is
// no longer used.
func (b *BPFFS) Close() error {
	err := unix.Unmount(b.dir, 0)
	if errors.Is(err, unix.EBUSY) {
		err = unix.Unmount(b.dir, unix.MNT_DETACH)
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w", b.dir, err)
	}
	return nil
}

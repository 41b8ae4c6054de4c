package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/netlab"
)

// Stage has mounts of its own, which nobody else sees and which are gone with the thread: a directory of
// files in memory, and in it one for pins. It lives on the thread that made it, which nothing else may run on
// any more; processes that are started on that thread see the same mounts.
type Stage struct {
	undo []func() error // from the first thing made to the last
	dir  string
}

// New makes a stage over the directory for temporary files, so that a demo that is killed leaves no file there. The
// caller has locked the calling goroutine to its thread and never unlocks it.
func New() (*Stage, error) {
	s := &Stage{dir: os.TempDir()}
	if err := s.make(); err != nil {
		return nil, errors.Join(explained(err), s.Close())
	}
	return s, nil
}

// explained says what to do about a lack of privileges.
func explained(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w: the demo makes namespaces of its own: %w; run it as root, for example with sudo",
		loader.ErrPrivilege, err)
}

func (s *Stage) make() error {
	if err := ownMounts(); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", s.dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700,size=64m"); err != nil {
		return fmt.Errorf("mount a file system in memory on %s: %w", s.dir, err)
	}
	s.Later(func() error { return unmount(s.dir) })
	pins := filepath.Join(s.dir, "bpf")
	if err := os.Mkdir(pins, 0o700); err != nil {
		return err
	}
	mounted, err := netlab.MountBPFFS(pins)
	if err == nil {
		s.Later(mounted.Close)
	}
	return err
}

// ownMounts gives the calling thread a mount namespace of its own.
func ownMounts() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts of the new namespace private: %w", err)
	}
	return nil
}

// unmount unmounts also what is in use by a process that is about to end.
func unmount(dir string) error {
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", dir, err)
	}
	return nil
}

// File returns where a file of this name is.
func (s *Stage) File(name string) string { return filepath.Join(s.dir, name) }

// Pins returns where an instance of headgate of this name is pinned.
func (s *Stage) Pins(name string) string { return filepath.Join(s.dir, "bpf", name) }

// Pair makes two network namespaces with a wire between them.
func (s *Stage) Pair(o netlab.PairOptions) (*netlab.Pair, error) {
	var ends [2]*netlab.Namespace
	for n := range ends {
		ns, err := netlab.New()
		if err != nil {
			return nil, explained(err)
		}
		s.Later(ns.Close)
		ends[n] = ns
	}
	pair, err := netlab.NewPair(ends[0], ends[1], o)
	if err == nil {
		s.Later(pair.Close)
	}
	return pair, err
}

// Later has Close call undo, before what it was told earlier.
func (s *Stage) Later(undo func() error) { s.undo = append(s.undo, undo) }

// Close removes all that there is, the last thing made first.
func (s *Stage) Close() error {
	var errs []error
	for len(s.undo) > 0 {
		last := len(s.undo) - 1
		undo := s.undo[last]
		s.undo = s.undo[:last]
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}

// BootTime returns the time of the boot clock, in ns.
func BootTime() int64 { return int64(wire.BootTime()) }

// SleepUntil returns at a time of the boot clock, or when ctx ends, with its error.
func SleepUntil(ctx context.Context, at int64) error {
	timer := time.NewTimer(time.Duration(at - BootTime()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return ctx.Err()
	}
}

package loader

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is how often a held lock is tried again.
const lockPoll = 20 * time.Millisecond

// Lock takes the lock of an instance that is open, as Open does, and waits so long for another command
// to end. It returns ErrNotLoaded where the instance was removed or replaced since it was opened. The
// lock is not for several goroutines of one process: these must see to their order themselves.
func (i *Instance) Lock(wait time.Duration) error {
	lock, err := lockDir(filepath.Dir(i.dir), wait)
	if err != nil {
		return err
	}
	if i.Replaced() {
		return errors.Join(notLoaded(filepath.Dir(i.dir)), lock.Close())
	}
	i.lock = lock
	return nil
}

// Unlock gives the lock back, and leaves the instance open to read. It may be called without the lock.
func (i *Instance) Unlock() error {
	if i.lock == nil {
		return nil
	}
	err := i.lock.Close()
	i.lock = nil
	return err
}

// makeAndLock makes dir where it is not there, and locks it.
func makeAndLock(dir string, wait time.Duration) (*os.File, error) {
	deadline := time.Now().Add(wait)
	for {
		if err := os.MkdirAll(dir, dirMode); err != nil {
			return nil, fmt.Errorf("make %s: %w", dir, privilege(err))
		}
		f, err := lockUntil(dir, deadline)
		if errors.Is(err, ErrNotLoaded) {
			continue // removed by a detach in between
		}
		return f, err
	}
}

// lockDir locks dir, so that one command at a time changes an instance. The kernel gives the lock
// back when the process ends, however it does. Closing the file unlocks.
func lockDir(dir string, wait time.Duration) (*os.File, error) {
	return lockUntil(dir, time.Now().Add(wait))
}

func lockUntil(dir string, deadline time.Time) (*os.File, error) {
	for {
		f, err := os.Open(dir)
		if errors.Is(err, os.ErrNotExist) {
			return nil, notLoaded(dir)
		}
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", dir, privilege(err))
		}
		if err := checkOwner(dir); err != nil {
			f.Close()
			return nil, err
		}
		if err := waitFlock(f, deadline); err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
		if sameFile(f, dir) {
			return f, nil
		}
		// It was removed while we waited for it, and the lock is on nothing.
		f.Close()
	}
}

func waitFlock(f *os.File, deadline time.Time) error {
	for {
		err := tryFlock(f)
		if !errors.Is(err, ErrLocked) {
			return err
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("%w on this instance; try again, or wait longer with --lock-wait", err)
		}
		time.Sleep(lockPoll)
	}
}

func tryFlock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		default:
			return err
		}
	}
}

func sameFile(f *os.File, path string) bool {
	held, err1 := f.Stat()
	there, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(held, there)
}

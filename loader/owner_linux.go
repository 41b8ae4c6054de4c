package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// checkOwner returns an error where others could have put something into an instance's directory,
// or could do so later: a bpf file system is often one in which everybody may make directories, and
// who has made this one decides what the limiter is. It is no error that there is no directory yet.
func checkOwner(dir string) error {
	for _, path := range []string{dir, filepath.Join(dir, layoutVersion)} {
		// A symbolic link counts too: its owner can turn it elsewhere at any time.
		for _, stat := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
			info, err := stat(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("look at %s: %w", path, privilege(err))
			}
			if err := checkInfo(path, info); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkInfo(path string, info fs.FileInfo) error {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("look at %s: no owner is known", path)
	}
	self := os.Geteuid()
	if owner := int(sys.Uid); owner != self && owner != 0 {
		return fmt.Errorf("%s belongs to user %d, who could change what limits packets; look at what "+
			"is in it and remove it, or make it yours with `chown -hR %d %s`, or choose another "+
			"directory with --pin", path, owner, self, path)
	}
	const othersWrite = 0o022
	if info.Mode()&fs.ModeSymlink == 0 && info.Mode()&othersWrite != 0 {
		return fmt.Errorf("others may write to %s (%s), and so could change what limits packets; "+
			"`chmod go-w %s`, or choose another directory with --pin", path, info.Mode(), path)
	}
	return nil
}

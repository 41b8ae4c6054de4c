package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// standardMount is where distributions mount the bpf file system.
	standardMount = "/sys/fs/bpf"

	layoutVersion = "v1"
	linksDir      = "links"
	agentDir      = "agent"
	tempPrefix    = "tmp-"

	dirMode = 0o700
)

// ensureBPFFS makes sure that dir is, or can be made, on a bpf file system.
func ensureBPFFS(dir string, notice func(string)) error {
	on, err := onBPFFS(dir)
	if err != nil || on {
		return err
	}
	if dir != standardMount && !strings.HasPrefix(dir, standardMount+"/") {
		return fmt.Errorf("%[1]s is not on a bpf file system; mount one there with "+
			"`mkdir -p %[2]s && mount -t bpf bpf %[2]s`, or choose a directory below %[3]s",
			dir, filepath.Dir(dir), standardMount)
	}
	if err := unix.Mount("bpf", standardMount, "bpf", 0, "mode=0700"); err != nil {
		return fmt.Errorf("mount the bpf file system on %s: %w; mount it by hand, or choose "+
			"another directory with --pin", standardMount, err)
	}
	notice("mounted the bpf file system on " + standardMount)
	return nil
}

// onBPFFS asks the nearest directory above dir that exists.
func onBPFFS(dir string) (bool, error) {
	for {
		var stat unix.Statfs_t
		err := unix.Statfs(dir, &stat)
		if err == nil {
			return stat.Type == unix.BPF_FS_MAGIC, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return false, fmt.Errorf("look at %s: %w", dir, privilege(err))
		}
		dir = filepath.Dir(dir)
	}
}

// checkVersion returns nil where dir holds an instance of this layout.
func checkVersion(dir string) error {
	_, err := os.Stat(filepath.Join(dir, layoutVersion))
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open the instance at %s: %w", dir, privilege(err))
	}
	versions, err := ownEntries(dir)
	if err != nil {
		return err
	}
	for _, v := range versions {
		if !isTemp(v) {
			return fmt.Errorf("%w is at %s: it has the layout %s, this headgate uses %s; detach it "+
				"with the headgate that made it or with `headgate detach --all`, or choose another "+
				"directory with --pin", ErrOtherVersion, dir, v, layoutVersion)
		}
	}
	return notLoaded(dir)
}

func notLoaded(dir string) error {
	return fmt.Errorf("%w at %s; `headgate attach IFACE --rate 10kpps` starts one", ErrNotLoaded, dir)
}

// ownEntries returns the names in dir that headgate made: layouts, and what a start or a detach that
// was cut short left over.
func ownEntries(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, privilege(err))
	}
	var own []string
	for _, e := range entries {
		if isLayout(e.Name()) || isTemp(e.Name()) {
			own = append(own, e.Name())
		}
	}
	return own, nil
}

func isLayout(name string) bool {
	digits, ok := strings.CutPrefix(name, "v")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

func isTemp(name string) bool { return strings.HasPrefix(name, tempPrefix) }

// removeLeftovers removes what starts and detaches that were cut short left in dir. The lock is held.
func removeLeftovers(dir string) error {
	names, err := ownEntries(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if isTemp(name) {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				return fmt.Errorf("remove what an interrupted command left: %w", err)
			}
		}
	}
	return nil
}

// removeDir removes an instance with all that it holds, and nothing else that may be in dir. The
// lock is held. Wherever it is cut short there is a whole instance or none.
func removeDir(dir string) error {
	names, err := ownEntries(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		// Links first: traffic flows freely as soon as possible.
		errs = append(errs, unpinLinks(filepath.Join(dir, name, linksDir)))
	}
	// Then what is left over: it may be in the way of a rename.
	errs = append(errs, removeLeftovers(dir))
	for _, name := range slices.DeleteFunc(names, isTemp) {
		errs = append(errs, removeLayout(dir, name))
	}
	errs = append(errs, removeIfEmpty(dir))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove the instance at %s: %w", dir, err)
	}
	return nil
}

// removeLayout renames first, so that nobody takes what is half removed for an instance.
func removeLayout(dir, name string) error {
	temp := filepath.Join(dir, fmt.Sprintf("%s%d-%s", tempPrefix, os.Getpid(), name))
	if err := os.Rename(filepath.Join(dir, name), temp); err != nil {
		return err
	}
	return os.RemoveAll(temp)
}

// removeIfEmpty removes dir, unless others have something there or a file system is mounted on it.
func removeIfEmpty(dir string) error {
	err := os.Remove(dir)
	for _, fine := range []error{unix.ENOTEMPTY, unix.EBUSY, fs.ErrNotExist} {
		if errors.Is(err, fine) {
			return nil
		}
	}
	return err
}

// unpinLinks detaches all that is pinned in dir. Whatever cannot be is left to the removal of dir.
func unpinLinks(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		_ = unpinLink(filepath.Join(dir, e.Name()))
	}
	return err
}

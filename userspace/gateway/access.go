package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/headgate/headgate/userspace/config"
)

// sameGroup is the group of a file that keeps the one it has.
const sameGroup = -1

// CheckGroup returns an error if this machine has no group of that name.
func CheckGroup(name string) error {
	_, err := groupID(name)
	return err
}

// Permit gives the file of a unix socket that is open already to those of a; what a does not say is as it would be of a new one.
// undo makes it what it was.
func Permit(path string, a config.Access) (undo func(), err error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	gid, err := groupID(a.Group)
	if err != nil {
		return nil, err
	}
	if gid == sameGroup {
		if gid, err = groupOfNew(path); err != nil {
			return nil, err
		}
	}
	undo = func() { _ = permit(path, groupOf(before), before.Mode().Perm()) }
	if err := permit(path, gid, modeOf(a)); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

func modeOf(a config.Access) fs.FileMode {
	return fs.FileMode(cmp.Or(a.Mode, config.DefaultSocketMode))
}

// groupID returns the number of a group, sameGroup for none.
func groupID(group string) (int, error) {
	if group == "" {
		return sameGroup, nil
	}
	if n, err := strconv.ParseUint(group, 10, 31); err == nil {
		return int(n), nil
	}
	g, err := user.LookupGroup(group)
	if err != nil {
		return sameGroup, fmt.Errorf("there is no group %s on this machine; name that of the gateway (id -Gn www-data; id -Gn nginx), or its number: %w", group, err)
	}
	return strconv.Atoi(g.Gid)
}

// groupOfNew returns the group that a new file at path would have.
func groupOfNew(path string) (int, error) {
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return sameGroup, err
	}
	if dir.Mode()&fs.ModeSetgid != 0 {
		return groupOf(dir), nil
	}
	return os.Getegid(), nil
}

func groupOf(file fs.FileInfo) int {
	if s, ok := file.Sys().(*syscall.Stat_t); ok {
		return int(s.Gid)
	}
	return sameGroup
}

// permit sets the group and the mode of a file. The mode comes last, so that it is no wider for the group that was.
func permit(path string, gid int, mode fs.FileMode) error {
	err := os.Lchown(path, sameGroup, gid)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("give the socket to group %d: %w; the agent has to be a member of it, or to have CAP_CHOWN", gid, err)
	}
	if err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

package gateway

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/userspace/config"
)

// otherGroup is one that root is no member of.
const otherGroup = "65534"

// checkFile compares a file's mode and group with what they should be.
func checkFile(t *testing.T, path string, mode fs.FileMode, group int) {
	t.Helper()
	file, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if file.Mode().Perm() != mode || groupOf(file) != group {
		t.Errorf("%s: mode %v, group %d; want %v, %d", path, file.Mode().Perm(), groupOf(file), mode, group)
	}
}

func listenFor(t *testing.T, access config.Access) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(config.Listener{Network: config.NetworkUnix, Address: path, Access: access}, ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return path
}

// A socket's file has the group and the mode that are said, by number or by name.
func TestListenFor(t *testing.T) {
	need.Root(t)
	checkFile(t, listenFor(t, config.Access{Group: otherGroup}), 0o660, 65534)
	checkFile(t, listenFor(t, config.Access{Group: "root", Mode: 0o666}), 0o666, 0)
	checkFile(t, listenFor(t, config.Access{}), 0o660, os.Getegid())
}

// What is said can change while the socket is open, and be taken back; what is not said any more is as of a new file.
func TestPermit(t *testing.T) {
	need.Root(t)
	path := listenFor(t, config.Access{Group: otherGroup, Mode: 0o666})
	undo, err := Permit(path, config.Access{})
	if err != nil {
		t.Fatal(err)
	}
	checkFile(t, path, 0o660, os.Getegid())
	undo()
	checkFile(t, path, 0o666, 65534)
	if err := os.Chown(filepath.Dir(path), -1, 7); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o755|fs.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	if _, err := Permit(path, config.Access{Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	checkFile(t, path, 0o600, 7)
}

// A group that does not exist is an error that says what to do, and nothing is left of the socket.
func TestUnknownGroup(t *testing.T) {
	dir := t.TempDir()
	l, err := Listen(config.Listener{Network: config.NetworkUnix, Address: filepath.Join(dir, "s"), Access: config.Access{Group: "no-such-group"}}, ListenOptions{})
	if err == nil {
		l.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "no group no-such-group on this machine") {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// Who may not give a file to a group is told what that takes.
func TestGroupOfOthers(t *testing.T) {
	if os.Geteuid() == 0 && os.Getenv("HEADGATE_TEST_GROUP") == "" {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestGroupOfOthers$", "-test.v")
		cmd.Env = append(os.Environ(), "HEADGATE_TEST_GROUP=1", "TMPDIR=/tmp")
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestGroupOfOthers") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(config.Listener{Network: config.NetworkUnix, Address: path, Access: config.Access{Group: "0"}}, ListenOptions{})
	if err == nil {
		l.Close()
	}
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "CAP_CHOWN") {
		t.Errorf("error %v", err)
	}
}

package gateway

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/headgate/headgate/userspace/config"
)

// The directory of a socket is made, but not those above it.
func TestListenUnixMakesItsDirectory(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	dir := filepath.Join(t.TempDir(), "d")
	l, err := Listen(config.Listener{Network: "unix", Address: filepath.Join(dir, "s")}, ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	made, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if mode := made.Mode().Perm(); mode != 0o755 {
		t.Errorf("its mode is %o", mode)
	}

	deep := filepath.Join(dir, "no", "such")
	_, err = Listen(config.Listener{Network: "unix", Address: filepath.Join(deep, "s")}, ListenOptions{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "mkdir -p "+deep) {
		t.Errorf("error %v", err)
	}
}

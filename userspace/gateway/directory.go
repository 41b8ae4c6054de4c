package gateway

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// directoryMode lets everybody pass to the sockets in a directory: who may use one is said by the socket's own mode.
const directoryMode = 0o755

// makeDirectory makes the directory of a socket where it is missing, as /run/headgate is after each boot. It makes no other
// above it: those would be a mistake in the path.
func makeDirectory(socket string) error {
	dir := filepath.Dir(socket)
	err := os.Mkdir(dir, directoryMode)
	switch {
	case err == nil:
		return os.Chmod(dir, directoryMode) // whatever the umask, which is 077 in a service
	case errors.Is(err, fs.ErrExist): // what is no directory is found by who uses it
		return nil
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; make it for who runs headgate, as by sudo install -d -o USER %s, or choose a path elsewhere", err, dir)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the directory above it is missing too; make it by mkdir -p %s, or choose another path", err, dir)
	default:
		return err
	}
}

package gateway

import (
	"errors"

	"golang.org/x/sys/unix"
)

// mostFiles is what counts of a limit that is larger, or of none.
const mostFiles = 1 << 20

// Files returns how many files, connections among them, the process may have open at once: its hard limit, to which
// package os has raised the soft one before main began.
func Files() int {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return mostFiles
	}
	return int(min(files.Cur, mostFiles))
}

// isOwnFault reports whether err is that this process or machine has no more files, ports or memory, which says nothing about
// the server at the other end.
func isOwnFault(err error) bool {
	for _, own := range []error{unix.EMFILE, unix.ENFILE, unix.EADDRNOTAVAIL, unix.ENOBUFS, unix.ENOMEM} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

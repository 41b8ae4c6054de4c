package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// keyMode makes a terminal hand over keys as they are pressed, and not show them. Those that send
// signals still do.
func keyMode(in io.Reader) (restore func(), ok bool) {
	f, isFile := in.(*os.File)
	if !isFile {
		return nil, false
	}
	fd := int(f.Fd())
	was, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, false
	}
	mode := *was
	mode.Lflag &^= unix.ICANON | unix.ECHO
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &mode); err != nil {
		return nil, false
	}
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, was) }, true
}

package main

import "golang.org/x/sys/unix"

// kernelRelease returns the release of the running kernel, as `uname -r` does.
func kernelRelease() string {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(uts.Release[:])
}

//go:build !amd64 && !arm64

package nginxlab

// clockLibrary is empty: clock.c knows no system calls of this machine.
var clockLibrary []byte

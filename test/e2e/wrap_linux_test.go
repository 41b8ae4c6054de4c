package e2e_test

import (
	"errors"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// The ways in which wrap runs headgate.
const (
	// wrapChild runs it as a child without SSH_CONNECTION, as sudo would.
	wrapChild = "child"
	// wrapNoBPFFS runs it where nothing is mounted on /sys/fs/bpf, in a mount namespace of its own,
	// which the caller makes.
	wrapNoBPFFS = "no bpffs"
	// wrapFiles replaces itself by headgate, which may open so many files.
	wrapFiles = "8192 files"
	// wrapSockets replaces itself by headgate, and says as systemd does that files from 3 on are for it.
	wrapSockets = "sockets of systemd"
)

// wrapped makes a command go through this test binary.
func (c *command) wrapped(how string) *command {
	c.lab.tb.Helper()
	self, err := os.Executable()
	if err != nil {
		c.lab.tb.Fatal(err)
	}
	c.Path, c.Args[0] = self, self
	return c.with(wrapVariable+"="+how, binaryVariable+"="+os.Getenv(binaryVariable))
}

// wrap is the main function of a wrapper. It returns headgate's exit code.
func wrap(how string, args []string) int {
	binary := os.Getenv(binaryVariable)
	if err := os.Unsetenv(wrapVariable); err != nil {
		return fail(err)
	}
	switch how {
	case wrapFiles:
		if err := limitFiles(8192); err != nil {
			return fail(err)
		}
		return fail(become(binary, args))
	case wrapSockets:
		return fail(become(binary, args, "LISTEN_PID="+strconv.Itoa(os.Getpid())))
	}
	if how == wrapNoBPFFS {
		if err := unmountAll("/sys/fs/bpf"); err != nil {
			return fail(err)
		}
	} else if err := os.Unsetenv("SSH_CONNECTION"); err != nil {
		return fail(err)
	}
	cmd := exec.Command(binary, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fail(err)
	}
	return cmd.ProcessState.ExitCode()
}

// become replaces this process by another program. It returns only where that fails.
func become(binary string, args []string, variables ...string) error {
	return unix.Exec(binary, append([]string{binary}, args...), append(os.Environ(), variables...))
}

func unmountAll(dir string) error {
	for {
		err := unix.Unmount(dir, unix.MNT_DETACH)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
			return nil // not a mount point, or not any more
		}
		if err != nil {
			return err
		}
	}
}

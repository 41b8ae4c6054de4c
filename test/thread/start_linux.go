package thread

import (
	"errors"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// Start starts a process in a thread that stays as long as it does: a process with SysProcAttr.Pdeathsig gets that signal
// when the thread ends that started it, and threads of Go's end with goroutines that are locked to them. inside calls a
// function where the process is to be, as netlab's Namespace.Do does; nil is here.
func Start(cmd *exec.Cmd, inside func(func() error) error) error {
	if inside == nil {
		inside = func(start func() error) error { return start() }
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := inside(cmd.Start)
		started <- err
		if err == nil {
			awaitExit(cmd.Process.Pid)
		}
	}()
	return <-started
}

// awaitExit returns when a child has ended. It leaves it to be waited for.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
